"""Errors in files, settings and the environment; a bad argument is a plain `ValueError`."""

from __future__ import annotations


class SettingsError(ValueError):
    """A setting, preset or combination of options is invalid; the message lists valid ones."""


class StepreelError(Exception):
    """A problem outside the program; the message says what to do about it."""


class RecordingError(StepreelError):
    """A recording cannot be read, or contains nothing to learn from."""


class StoreError(StepreelError):
    """A cache file is missing, damaged or cannot be written."""


class ModelError(StepreelError):
    """A model cannot be read, does not fit a recording, or lacks what is asked of it."""


class ConstraintError(StepreelError):
    """What a person demands of the steps of a recording cannot be met."""


class OutputError(StepreelError):
    """A result cannot be written to its output folder."""


class DatasetError(StepreelError):
    """A labelled dataset is missing, or a file of it does not follow its format."""


class DatasetMissingError(DatasetError):
    """A required file or folder of a dataset is missing."""


class PluginError(StepreelError):
    """An extension from another package cannot be imported, or was written for another version."""
