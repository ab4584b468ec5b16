"""Recordings → feature tracks: extracted from videos, or read from files and arrays."""
