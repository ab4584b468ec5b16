"""Deprecated: readers of datasets are in `stepreel.evaluation.datasets`."""
