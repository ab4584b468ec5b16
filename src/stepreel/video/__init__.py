"""Video file → frames with times → moments on a regular time grid, with a preview of each."""
