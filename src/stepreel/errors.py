"""The errors stepreel raises for the outside world; a bad argument is a plain `ValueError`."""

from __future__ import annotations


class StepreelError(Exception):
    """Something outside the program is not as it must be; the text says what to do about it."""


class RecordingError(StepreelError):
    """A recording cannot be read, or holds nothing to learn from."""


class StoreError(StepreelError):
    """A cache file is missing, damaged or cannot be written."""


class ModelError(StepreelError):
    """A trained model cannot be read, or does not fit a recording."""


class OutputError(StepreelError):
    """A result cannot be written where it was asked for."""


class DatasetError(StepreelError):
    """A labelled dataset is missing, or a file of it is not as its format says."""
