"""Labelled datasets: one reader per release or file layout."""
