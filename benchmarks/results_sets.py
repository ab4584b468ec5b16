"""The sets of docs/results.md, and the `stepreel evaluate` command of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Set:
    """One set: its title, its arguments of `stepreel evaluate`, and a second evaluation of it.

    extra  options of the second evaluation: sweeps and task metrics
    """

    name: str
    title: str
    command: str
    extra: str = ""


SETS = (
    Set(
        "suturing",
        "JIGSAWS Suturing",
        "npz jigsaws/Suturing --cues left_arm,right_arm --clusters 7 --window-seconds 3",
        "--rate 5 --sweep-clusters 7,10,12,15 --sweep-cues --sweep-recordings 1,5,20 "
        "--task-metric kendall --task-metric key-steps --task-metric samplers",
    ),
    Set(
        "knot-tying",
        "JIGSAWS Knot_Tying",
        "npz jigsaws/Knot_Tying --cues left_arm,right_arm --clusters 7 --window-seconds 3",
    ),
    Set(
        "knot-tying-video",
        "Knot_Tying, videos",
        "videos jigsaws/Knot_Tying_video --truth jigsaws/Knot_Tying --clusters 7 "
        "--window-seconds 3",
    ),
    Set("bimacs", "Bimacs", "npz bimacs_zed --lenient --clusters 6 --window-seconds 1"),
    Set("cad120", "CAD-120", "npz cad120 --cues skeleton --clusters 5 --window-seconds 1"),
    Set(
        "openpack",
        "OpenPack",
        "npz openpack/boxes --clusters 10 --window-seconds 5",
        "--task-metric kendall --task-metric key-steps --task-metric samplers",
    ),
    Set(
        "breakfast",
        "Breakfast coffee",
        "breakfast breakfast_coffee --clusters 5 --window-seconds 3",
        "--task-metric phases --task-metric kendall --task-metric key-steps --task-metric samplers",
    ),
    Set(
        "captaincook4d",
        "CaptainCook4D",
        "npz captaincook4d --clusters 10 --window-seconds 10",
    ),
)
BASELINES = "--baselines-only --clusters 7"
ANNOTATIONS_ONLY = (
    Set("egoprocel", "EgoProceL", f"egoprocel egoprocel {BASELINES}"),
    *(
        Set(
            task,
            f"EgoProceL, {task}",
            f"egoprocel egoprocel --task {task} {BASELINES}",
            "--sweep-clusters 7,10,12,15",
        )
        for task in ("meccano", "epic-tents")
    ),
)


def evaluate_arguments(dataset: Set, *, seeds: int, extra: bool = False) -> list[str]:
    """Return the arguments of `stepreel evaluate`, with paths relative to the data folder."""
    parts = f"{dataset.command} --seeds {seeds}".split()
    return parts + (dataset.extra.split() if extra else [])


def shown_command(dataset: Set, *, seeds: int, extra: bool) -> str:
    """Return the arguments as documented, with DATA for the folder of all sets."""
    words = in_folder(evaluate_arguments(dataset, seeds=seeds, extra=extra), "DATA/")
    return " ".join([*words, "-o", f"results/{dataset.name}{'-more' if extra else ''}"])


def in_folder(arguments: Sequence[str], folder: str) -> list[str]:
    """Put a folder in front of the arguments that are paths."""
    paths = [n for n, _ in enumerate(arguments) if n == 1 or arguments[n - 1] == "--truth"]
    return [f"{folder}{word}" if n in paths else word for n, word in enumerate(arguments)]
