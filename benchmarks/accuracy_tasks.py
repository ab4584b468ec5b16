"""The labelled tasks that decoders are measured on, by source, at five moments a second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stepreel.config import load_settings
from stepreel.evaluation.datasets.base import Request
from stepreel.evaluation.datasets.catalog import DATASETS
from stepreel.evaluation.prepare import PreparedTask, prepare_task
from stepreel.evaluation.truth.annotation import Problems
from stepreel.features.sources import LoadedRecordings, extract_recordings
from stepreel.system.store import Store

RATE = 5.0  # moments per second; sources with fewer keep theirs


@dataclass(frozen=True)
class TaskSource:
    """One source: its tasks' folders, K and σ, as in docs/results.md.

    choosing  folders that defaults may be chosen on; the others are only reported
    truth     folder of labels, for videos
    """

    name: str
    format: str
    folders: tuple[str, ...]
    n_clusters: int
    window_seconds: float
    cues: tuple[str, ...] = ()
    choosing: tuple[str, ...] = ()
    truth: str = ""


ARMS = ("left_arm", "right_arm")
CAD_CHOOSING = ("arranging_objects", "having_meal", "stacking_objects", "taking_food")
CAD_OTHERS = ("microwaving_food", "picking_objects", "taking_medicine", "unstacking_objects")
COOKING_CHOOSING = ("spicedhotchocolate", "microwaveeggsandwich", "breakfastburritos")
COOKING_OTHERS = ("cheesepimiento", "coffee", "pinwheels")


def _below(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}" for name in names)


TASK_SOURCES = (
    TaskSource("Suturing", "npz", ("jigsaws/Suturing",), 7, 3.0, ARMS, ("jigsaws/Suturing",)),
    TaskSource("Knot_Tying", "npz", ("jigsaws/Knot_Tying",), 7, 3.0, ARMS),
    TaskSource(
        "Knot_Tying video",
        "videos",
        ("jigsaws/Knot_Tying_video",),
        7,
        3.0,
        truth="jigsaws/Knot_Tying",
    ),
    TaskSource("Bimacs", "npz", ("bimacs_zed",), 6, 1.0, choosing=("bimacs_zed",)),
    TaskSource(
        "CAD-120",
        "npz",
        _below("cad120", *CAD_CHOOSING, *CAD_OTHERS),
        5,
        1.0,
        ("skeleton",),
        _below("cad120", *CAD_CHOOSING),
    ),
    TaskSource("OpenPack", "npz", ("openpack/boxes",), 10, 5.0),
    TaskSource("coffee", "breakfast", ("breakfast_coffee",), 5, 3.0),
    TaskSource(
        "CaptainCook4D",
        "npz",
        _below("captaincook4d", *COOKING_CHOOSING, *COOKING_OTHERS),
        10,
        10.0,
        choosing=_below("captaincook4d", *COOKING_CHOOSING),
    ),
)


def tasks_of(source: TaskSource, data: Path, store: Store) -> Iterator[tuple[str, PreparedTask]]:
    """Yield the folder and the recordings of every task of a source."""

    def extract(videos: Sequence[Path]) -> LoadedRecordings:
        return extract_recordings(videos, load_settings().extract, store)

    for folder in source.folders:
        problems = Problems(lenient=True)
        truth = data / source.truth if source.truth else None
        request = Request(data / folder, problems, truth=truth, cues=source.cues)
        for task in DATASETS[source.format].read(request):
            first = task.recordings[0].features
            rate = RATE if first is not None and first().moment_seconds < 1 / RATE else None
            yield (
                folder,
                prepare_task(task, problems, labels_rate=RATE, rate=rate, extract=extract),
            )
