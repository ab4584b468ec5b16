"""Labelled recordings to measure on: one reader per file format, differences as data."""
