"""Annotations: label file formats (one file each), and labels at given moments."""
