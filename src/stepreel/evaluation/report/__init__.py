"""Results of an evaluation as text for the terminal and as a page."""
