"""A video file → frames with times → moments on a grid of time, and a small picture of each."""
