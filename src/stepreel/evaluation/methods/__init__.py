"""The methods that are compared, null baselines among them. None sees a label."""
