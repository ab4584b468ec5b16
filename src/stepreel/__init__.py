"""stepreel finds the key steps of a recorded task, without labels, on your own machine.

>>> from stepreel import find_key_steps
>>> board = find_key_steps("shelf.mp4")            # doctest: +SKIP
>>> board.steps[0].time                            # doctest: +SKIP
12.25
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stepreel.errors import ModelError, OutputError, RecordingError, StepreelError, StoreError
from stepreel.version import __version__

if TYPE_CHECKING:
    from stepreel.storyboard.schema import Storyboard, read_storyboard

__all__ = [
    "ModelError",
    "OutputError",
    "RecordingError",
    "StepreelError",
    "StoreError",
    "Storyboard",
    "__version__",
    "find_key_steps",
    "read_storyboard",
]


def __getattr__(name: str) -> object:
    """Load the storyboard model only when somebody asks for it."""
    if name in ("Storyboard", "read_storyboard"):
        from stepreel.storyboard import schema as storyboard

        return getattr(storyboard, name)
    raise AttributeError(f"module 'stepreel' has no attribute {name!r}")


def find_key_steps(
    video: Path | str,
    output: Path | str | None = None,
    *,
    clusters: int | None = None,
    top: int | None = None,
    preset: str | None = None,
    seed: int | None = None,
    model: Path | str | None = None,
    device: str = "auto",
    cache: Path | str | None = None,
    **settings: object,
) -> Storyboard:
    """Return the storyboard of one recording; with `output`, also write it below that folder.

    clusters  how many kinds of steps to look for (7)
    top       show only so many steps, the clearest ones
    preset    named settings to start from (quick)
    model     a trained model's folder: its steps are found again, nothing is learned
    settings  anything else, as in `train__epochs=20`
    """
    from stepreel.config import DEFAULT_PRESET, check_cue_choices, load_settings
    from stepreel.learn.model import read_model, settings_for
    from stepreel.pipeline import run_task
    from stepreel.storyboard.folders import check_writable
    from stepreel.system.machine import cache_folder, check_device, pick_device
    from stepreel.system.store import Store

    named = {"key_steps.n_clusters": clusters, "key_steps.top": top, "train.seed": seed}
    overrides: dict[str, object] = {n: value for n, value in named.items() if value is not None}
    overrides |= {name.replace("__", ".", 1): value for name, value in settings.items()}
    where = check_device(device)
    if where in ("cuda", "mps"):
        pick_device(where)  # before hours of watching, not after
    trained = None
    if model is None:
        resolved = load_settings(preset or DEFAULT_PRESET, overrides)
        check_cue_choices(resolved, resolved.extract.cues)
    else:
        if preset is not None:
            raise ValueError("a preset cannot be changed with a trained model; leave it out")
        trained = read_model(model)
        resolved = settings_for(trained, overrides)
    if output is not None:
        check_writable(Path(output))
    result = run_task(
        [Path(video)],
        resolved,
        Store(Path(cache) if cache is not None else cache_folder()),
        output=Path(output) if output is not None else None,
        model=trained,
        device=where,
    )
    for reason in result.failures.values():
        raise RecordingError(reason)
    for reason in result.unsaved:
        raise OutputError(reason)
    return result.boards[Path(video)]
