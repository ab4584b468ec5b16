"""What the output folder keeps of a run, so that steps can be chosen again from it alone."""
