"""Scores of labellings and embeddings; arrays in, numbers out."""
