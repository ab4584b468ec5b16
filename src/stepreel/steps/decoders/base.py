"""What a decoder is: a function from all takes of a task to one label per moment.

The smallest decoder labels every take and returns what finds the same kinds again:

    def decode(takes):
        k = takes.n_clusters
        return Decoded([from_labels(take, my_labels(take, k), k) for take in takes.recordings])

    DECODER = Decoder(decode, title="what it does", api_version=1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stepreel.config import MOST_CLUSTERS, Settings
from stepreel.types import Clustering, FeatureTrack, Labels, Recording

MOST_OTHERS, APART = 3, 1.3  # other numbers offered, and the factor at least between any two

Kinds = Mapping[str, NDArray[np.float32]]
"""Arrays that find the same kinds of steps in later takes; they are part of the model."""


@dataclass(frozen=True)
class Takes:
    """All takes of one task.

    recordings  with the tracks of their cues
    embeddings  learned from them, one per recording; None unless the decoder needs or uses them
    settings    resolved settings of the run
    """

    recordings: Sequence[Recording]
    embeddings: Sequence[FeatureTrack] | None
    settings: Settings

    @property
    def n_clusters(self) -> int:
        """K: the number of kinds of steps, for decoders that have to know it."""
        return self.settings.key_steps.number_of_clusters

    @property
    def most_kinds(self) -> int | None:
        """K, or the most of a range, if that was asked for; else None: a decoder may find any."""
        choice = self.settings.key_steps
        return choice.n_clusters or (choice.clusters_range[1] if choice.clusters_range else None)

    @property
    def is_number_open(self) -> bool:
        """Whether the number of kinds has to be found."""
        return self.settings.key_steps.n_clusters is None

    def allowed(self, number: int) -> int:
        """Return the number of kinds nearest to `number` among those that were asked for."""
        fewest, most = self.settings.key_steps.clusters_range or (1, MOST_CLUSTERS)
        return max(fewest, min(number, most))

    def with_number(self, n_clusters: int) -> Takes:
        """Return the same takes, with the number of kinds known."""
        choice = self.settings.key_steps.model_copy(update={"n_clusters": n_clusters})
        return replace(self, settings=self.settings.model_copy(update={"key_steps": choice}))

    @property
    def window_seconds(self) -> float:
        """σ."""
        return self.settings.loss.window_seconds

    @property
    def seed(self) -> int:
        """Of everything random; the same seed must give the same labels."""
        return self.settings.train.seed


@dataclass(frozen=True)
class Decision:
    """What a decoder found out about the task, for readers of the storyboard.

    sentence         one plain sentence
    figures          what the decision rests on, by name
    found_structure  False if the result is hardly more than equal parts; None: not known, so the
                     confidence of steps decides whether a storyboard has a clear structure
    """

    sentence: str
    figures: Mapping[str, float] = field(default_factory=dict)
    found_structure: bool | None = None


Again = Callable[[int], Sequence[Clustering]]
"""Called as again(seed): decode the same takes again from a part of what was known."""


@dataclass(frozen=True)
class Decoded:
    """What a decoder found.

    clusterings  one per take
    kinds        what finds the same kinds of steps in later takes; empty if nothing can
    again        tells how stable the result is; None if that is not known
    used         the decoder that did the work, if this one only chose it
    decision     None if there was nothing to decide
    natural      numbers that the takes themselves suggest, ascending; empty if the decoder does not
                 look for them
    counts       of what: kinds of steps, or steps in a single recording
    """

    clusterings: list[Clustering]
    kinds: Kinds = field(default_factory=dict)
    again: Again | None = None
    used: str = ""
    decision: Decision | None = None
    natural: tuple[int, ...] = ()
    counts: Literal["kinds", "steps"] = "kinds"

    @property
    def other_numbers(self) -> list[int]:
        """A few natural numbers that are not near the one that was used, nor near each other."""
        if self.counts == "steps":
            return list(self.natural)  # of one recording; they are few, and none is near
        chosen = [len(np.unique(np.concatenate([one.labels for one in self.clusterings])))]
        for number in sorted(self.natural, key=lambda number: abs(np.log(number / chosen[0]))):
            is_near = any(max(number, k) < APART * min(number, k) for k in chosen)
            if not is_near and len(chosen) <= MOST_OTHERS:
                chosen.append(number)
        return sorted(chosen[1:])


Decode = Callable[[Takes], Decoded]
FindAgain = Callable[[Takes, Kinds], Decoded]


@dataclass(frozen=True)
class Decoder:
    """A way from tracks and embeddings to labels.

    decode           labels all takes of a task together
    find_again       finds the kinds of an earlier `Decoded` in later takes, for `--model`; None if
                     it cannot
    needs_embedding  whether an embedding is learned for it
    uses_embedding   whether it looks at an embedding that was learned anyway, instead of at tracks;
                     it works without one
    finds_number     whether it finds the number of kinds itself; else it is told one that was found
    learns           whether it learns itself, from several takes; then it takes longer than others
    title            what it does, in a few words
    api_version      version of this contract that a decoder of another package was written for
    """

    decode: Decode
    find_again: FindAgain | None = None
    needs_embedding: bool = False
    uses_embedding: bool = False
    finds_number: bool = False
    learns: bool = False
    title: str = ""
    api_version: int | None = None


def from_labels(recording: Recording, labels: Labels, n_clusters: int) -> Clustering:
    """Return labels without more: every moment is certain, and the middle of a run shows it best.

    Moments at which no cue is valid belong to no step.
    """
    labels = np.asarray(labels, np.int64)
    known = np.any([track.valid for track in recording.tracks.values()], axis=0)
    return Clustering(
        times=recording.times,
        labels=labels,
        distances=distance_to_middle(labels),
        certainty=np.ones(len(labels), np.float32),
        excluded=~known,
        n_clusters=n_clusters,
    )


def distance_to_middle(labels: Labels) -> NDArray[np.float32]:
    """Return how far every moment is from the middle of its run of one label, from 0 to 1.

    >>> distance_to_middle(np.array([4, 4, 4, 4, 7])).tolist()
    [0.75, 0.25, 0.25, 0.75, 0.0]
    """
    cuts = np.flatnonzero(np.diff(labels)) + 1
    starts = np.concatenate([[0], cuts])
    lengths = np.diff(np.concatenate([starts, [len(labels)]]))
    start, length = np.repeat(starts, lengths), np.repeat(lengths, lengths)
    offset = np.arange(len(labels)) - start - (length - 1) / 2
    distances: NDArray[np.float32] = np.abs(2 * offset / length).astype(np.float32)
    return distances


def numbered_by_appearance(clusterings: Sequence[Labels], n_clusters: int) -> NDArray[np.int64]:
    """Return the new number of every cluster: in the order in which they first appear.

    >>> numbered_by_appearance([np.array([2, 2, 0]), np.array([1])], 4).tolist()
    [1, 2, 0, 3]
    """
    values, first = np.unique(np.concatenate(clusterings), return_index=True)
    order = values[np.argsort(first)]
    order = np.concatenate([order, np.setdiff1d(np.arange(n_clusters), order)])
    numbers = np.empty(n_clusters, np.int64)
    numbers[order] = np.arange(n_clusters)
    return numbers


def with_id(decoded: Decoded, name: str) -> Decoded:
    """Return a result whose clusterings carry the id of its kinds."""
    return replace(
        decoded,
        clusterings=[replace(one, clustering_id=name) for one in decoded.clusterings],
    )
