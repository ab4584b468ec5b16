"""The errors stepreel raises for the outside world; a bad argument is a plain `ValueError`."""

from __future__ import annotations


class SettingsError(ValueError):
    """A setting, a preset or a combination of options is wrong; the message names what is known."""


class StepreelError(Exception):
    """Something outside the program is wrong; the message says what to do about it."""


class RecordingError(StepreelError):
    """A recording cannot be read, or contains nothing to learn from."""


class StoreError(StepreelError):
    """A cache file is missing, damaged or cannot be written."""


class ModelError(StepreelError):
    """A trained model cannot be read, or does not fit a recording."""


class OutputError(StepreelError):
    """A result cannot be written where it was asked for."""


class DatasetError(StepreelError):
    """A labelled dataset is missing, or a file of it does not follow its format."""


class DatasetMissingError(DatasetError):
    """A file or folder that the dataset must have is missing."""


class PluginError(StepreelError):
    """An extension from another package cannot be imported, or was written for another version."""
