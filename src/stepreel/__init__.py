"""stepreel finds the key steps of a recorded task, without labels, on your own machine.

    from stepreel import find_key_steps

    result = find_key_steps("shelf.mp4")                         # one recording
    results = find_key_steps(["take1.mp4", "take2.mp4"])         # several of one task
    result = find_key_steps({"hands": (times, features)})        # arrays in memory

    result.steps[0].time          # 12.25 (seconds)
    result.write("out/shelf")     # page, storyboard.json, pictures, chapters, …

    find_key_steps     recordings of one task → their key steps
    load_model         a model, to find the same steps in later recordings
    tune               the steps of an output folder, chosen again
    compare_takes      the storyboards of several takes → Comparison
    evaluate, score    methods, or predictions of your own, against true steps
    read_storyboard    a storyboard.json → Storyboard
    read_results       a results.json → Results
    load_settings      a preset with overrides on top → Settings
    Result, Storyboard, Model, Settings, Comparison, Results      what these return

Nothing heavy is imported before it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from stepreel.errors import (
    DatasetError,
    ModelError,
    OutputError,
    PluginError,
    RecordingError,
    SettingsError,
    StepreelError,
    StoreError,
)
from stepreel.version import __version__

if TYPE_CHECKING:
    from stepreel.api import Model, find_key_steps, load_model
    from stepreel.api_tune import tune
    from stepreel.comparison.run import compare_takes
    from stepreel.comparison.schema import Comparison
    from stepreel.config import Settings, load_settings
    from stepreel.evaluation.results import Results, read_results
    from stepreel.evaluation.run import evaluate
    from stepreel.evaluation.score_predictions import score
    from stepreel.result import Result
    from stepreel.storyboard.schema import Storyboard, read_storyboard

__all__ = [
    "Comparison",
    "DatasetError",
    "Model",
    "ModelError",
    "OutputError",
    "PluginError",
    "RecordingError",
    "Result",
    "Results",
    "Settings",
    "SettingsError",
    "StepreelError",
    "StoreError",
    "Storyboard",
    "__version__",
    "compare_takes",
    "evaluate",
    "find_key_steps",
    "load_model",
    "load_settings",
    "read_results",
    "read_storyboard",
    "score",
    "tune",
]

_HOME = {
    "Comparison": "stepreel.comparison.schema",
    "Model": "stepreel.api",
    "Result": "stepreel.result",
    "Results": "stepreel.evaluation.results",
    "Settings": "stepreel.config",
    "Storyboard": "stepreel.storyboard.schema",
    "compare_takes": "stepreel.comparison.run",
    "evaluate": "stepreel.evaluation.run",
    "find_key_steps": "stepreel.api",
    "load_model": "stepreel.api",
    "load_settings": "stepreel.config",
    "read_results": "stepreel.evaluation.results",
    "read_storyboard": "stepreel.storyboard.schema",
    "score": "stepreel.evaluation.score_predictions",
    "tune": "stepreel.api_tune",
}


if not TYPE_CHECKING:  # so that a type checker reports names that do not exist

    def __getattr__(name: str) -> object:
        """Import a public name's module when it is first used."""
        if name in _HOME:
            return getattr(import_module(_HOME[name]), name)
        raise AttributeError(f"module 'stepreel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
