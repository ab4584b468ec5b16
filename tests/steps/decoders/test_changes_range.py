"""`changes` with a range of kinds: as many as are found, but no fewer and no more."""

from __future__ import annotations

import numpy as np
import pytest
from steps.decoders.tasks import recurring, takes_of

from stepreel.steps.decoders.changes import CHANGES
from stepreel.steps.decoders.segment_kinds import group


def decode(n_takes, wanted, *, n_clusters="auto"):
    """Three kinds, twenty visits in each take."""
    recordings, _ = recurring(n_takes, n_kinds=3, visits=20)
    choice = {"key_steps.clusters_range": wanted}
    return CHANGES.decode(takes_of(recordings, n_clusters=n_clusters, **choice)).clusterings


def number_of(clusterings):
    """Return how many kinds there are, all of which occur."""
    number = len(np.unique(np.concatenate([one.labels for one in clusterings])))
    assert {one.n_clusters for one in clusterings} == {number}
    return number


def borders(clusterings):
    return [np.flatnonzero(np.diff(one.labels)).tolist() for one in clusterings]


def relabelled(groups):
    """Number groups as they first appear."""
    seen = list(dict.fromkeys(groups.tolist()))
    return [seen.index(one) for one in groups.tolist()]


@pytest.mark.parametrize("n_takes", [1, 2])
@pytest.mark.parametrize("by", [-3, 3])
def test_a_range_moves_the_number_of_kinds_to_its_nearer_end_and_costs_no_border(n_takes, by):
    free = decode(n_takes, "auto")
    found = number_of(free)
    wanted = found + by
    limits = f"{wanted}..{wanted + 2}" if by > 0 else f"{wanted - 2}..{wanted}"
    limited = decode(n_takes, limits)
    assert number_of(limited) == wanted
    assert borders(limited) == borders(free)


def test_a_range_around_what_is_found_changes_nothing():
    free, limited = decode(1, "auto"), decode(1, "2..40")
    assert np.array_equal(free[0].labels, limited[0].labels)


def test_there_are_no_more_kinds_than_segments():
    (clustering,) = decode(1, "500..600")
    assert number_of([clustering]) == len(borders([clustering])[0]) + 1


def test_a_number_that_was_asked_for_counts_and_not_the_range():
    assert number_of(decode(1, "12..20", n_clusters=3)) == 3


@pytest.mark.parametrize(
    ("fewest", "groups"),
    [
        (1, [0, 1, 0, 1, 0]),
        (2, [0, 1, 0, 1, 0]),
        (3, [0, 1, 0, 1, 2]),  # 0.3 is the farthest from the others of its kind
        (99, [0, 1, 2, 3, 4]),
    ],
)
def test_segments_that_are_alike_are_parted_only_for_the_sake_of_the_number(fewest, groups):
    means = [np.array([[0.0], [9.0], [0.1], [9.1], [0.3]])]
    halves = np.full(5, 1.0)
    assert relabelled(group(means, halves, 9, fewest=fewest)) == groups
