"""Annotations: the label formats that can be read, and labels at given moments."""
