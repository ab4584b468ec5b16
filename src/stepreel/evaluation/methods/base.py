"""What a method to compare is: a function from recordings to one cluster per moment.

The smallest method labels a list of recordings:

    def predict(recordings, run):
        return Prediction.from_labelling(lambda some: [my_labels(r) for r in some], recordings)

    METHOD = Method(predict, title="what it does", api_version=1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from stepreel.config import Settings
from stepreel.system.machine import Device
from stepreel.system.store import Store
from stepreel.types import Labels, Progress, Seconds, no_progress

MethodKind = Literal["blind", "clustered", "learned", "other"]
NULL_KINDS = frozenset({"blind", "clustered"})

R = TypeVar("R")


@dataclass(frozen=True)
class Prediction:
    """One cluster per moment, 0..K-1, or -1 for no step; one array per recording.

    together  all recordings of the task clustered together: a cluster means the same in all
    alone     every recording clustered by itself, for the protocols that ask for that
    """

    together: list[Labels]
    alone: list[Labels]

    @classmethod
    def from_labelling(
        cls, label: Callable[[list[R]], Sequence[Labels]], recordings: Sequence[R]
    ) -> Prediction:
        """Call `label` for all recordings together, then for each of them alone.

        label  takes a list of recordings and returns as many arrays of labels
        """
        together = list(label(list(recordings)))
        return cls(together, [label([recording])[0] for recording in recordings])


@dataclass(frozen=True)
class BlindRun:
    """What a blind method is given in addition to the recordings' times."""

    n_clusters: int
    seed: int


@dataclass(frozen=True)
class MethodRun:
    """What a method is given in addition to the recordings.

    settings    resolved settings of the method, for what it takes from stepreel
    n_clusters  K: labels are 0..K-1
    seed        of everything random; the same seed must give the same labels
    store       cache folder; predictions themselves are cached already
    device      where to compute: "auto", "cpu", "cuda" or "mps"
    progress    call it as progress(what, done, total) during long work
    train_on    positions of the recordings a learned method may train on; None: all. It still
                labels all of them.
    """

    settings: Settings
    n_clusters: int
    seed: int
    store: Store
    device: Device = "auto"
    progress: Progress = no_progress
    train_on: Sequence[int] | None = None


@dataclass(frozen=True)
class RecordingTimes:
    """All that a blind method sees of a recording: its moments, in seconds."""

    times: Seconds

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class Method:
    """A method to compare.

    predict      predict(recordings, run); `recordings` are `stepreel.types.Recording`s and `run`
                 is a `MethodRun`; a blind method gets `RecordingTimes` and a `BlindRun`
    kind         "blind" sees lengths only and runs on datasets without features; "clustered"
                 clusters raw features; both are null baselines. "learned" learns from
                 the recordings, without labels; "other" is anything else.
    title        what it does, in a few words, for the report
    uses_seed    False if it predicts the same for every seed, so that it is run once
    api_version  version of this contract that a method of another package was written for
    """

    predict: Callable[[Sequence[Any], Any], Prediction]
    kind: MethodKind = "other"
    title: str = ""
    uses_seed: bool = True
    api_version: int | None = None

    @property
    def is_null(self) -> bool:
        """Whether it is a null baseline: it learns nothing."""
        return self.kind in NULL_KINDS
