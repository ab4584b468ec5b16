"""Embedding → clusters of moments → key steps."""
