from __future__ import annotations

import numpy as np
import pytest
from steps.decoders.plain_finch import as_sets, sets_of
from steps.decoders.tasks import agreement, recurring, takes_of

from stepreel.steps.decoders import ward
from stepreel.steps.decoders.ward import group_stretches, kinds_of_stretches, stretches


def plain_ward(points, count):
    """Merge the neighbours whose union adds least to the squared distances, one pair at a time."""
    parts = [[moment] for moment in range(len(points))]

    def cost(left, right):
        a, b = points[left].mean(axis=0), points[right].mean(axis=0)
        return len(left) * len(right) / (len(left) + len(right)) * ((a - b) ** 2).sum()

    while len(parts) > count:
        best = min(range(len(parts) - 1), key=lambda i: cost(parts[i], parts[i + 1]))
        parts[best : best + 2] = [parts[best] + parts[best + 1]]
    return [number for number, part in enumerate(parts) for _ in part]


@pytest.mark.parametrize("seed", range(4))
def test_every_cut_of_a_take_is_connected_and_that_of_plain_loops(seed):
    points = np.random.default_rng(seed).normal(size=(15, 2))
    for count in range(1, 16):
        labels = stretches(points, count)
        assert labels.tolist() == plain_ward(points, count)
        assert set(np.diff(labels).tolist()) <= {0, 1}


def test_equal_neighbours_are_never_cut_apart():
    points = np.repeat([[1.0], [4.0], [1.0]], [4, 2, 3], axis=0)
    assert stretches(points, 8).tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 2]
    assert stretches(np.ones((5, 2)), 3).tolist() == [0] * 5


def test_stretches_of_several_takes_share_kinds():
    first = np.repeat([[0.0], [5.0], [9.0]], [4, 3, 6], axis=0)
    second = np.repeat([[9.1], [0.1], [5.1], [0.2]], [2, 3, 4, 2], axis=0)
    kinds = kinds_of_stretches([first, second], 3)
    a, b, c = kinds[0], kinds[4], kinds[7]
    assert len({a, b, c}) == 3
    assert kinds.tolist() == [a] * 4 + [b] * 3 + [c] * 6 + [c] * 2 + [a] * 3 + [b] * 4 + [a] * 2


def test_the_number_of_stretches_to_compare_is_limited(monkeypatch):
    monkeypatch.setattr(ward, "MOST_STRETCHES", 6)
    takes = [np.random.default_rng(seed).normal(size=(40, 2)) for seed in range(3)]
    assert len(np.unique(kinds_of_stretches(takes, 5))) == 5


def test_kinds_that_recur_are_found_in_all_takes():
    recordings, truths = recurring(noise=0.5)
    decoded = ward.decode(takes_of(recordings, n_clusters=6))
    assert decoded.clusterings[0].n_clusters == 6
    assert agreement(truths, ward.decode(takes_of(recordings)).clusterings) > 0.8


@pytest.mark.parametrize("seed", range(3))
def test_stretches_are_grouped_as_their_moments_would_be_from_there_on(seed):
    rng = np.random.default_rng(seed)
    means, lengths = rng.normal(size=(12, 2)), rng.integers(1, 9, size=12)
    for n_kinds in range(1, 13):
        groups = [[stretch] for stretch in range(12)]

        def scatter(members):
            weights = lengths[members]
            centre = np.average(means[members], axis=0, weights=weights)
            return (weights * ((means[members] - centre) ** 2).sum(axis=1)).sum()

        while len(groups) > n_kinds:
            pairs = [(i, j) for i in range(len(groups)) for j in range(i)]
            i, j = min(
                pairs,
                key=lambda p: (
                    scatter(groups[p[0]] + groups[p[1]])
                    - scatter(groups[p[0]])
                    - scatter(groups[p[1]])
                ),
            )
            rest = [own for number, own in enumerate(groups) if number not in (i, j)]
            groups = [*rest, groups[i] + groups[j]]
        assert as_sets(group_stretches(means, lengths, n_kinds)) == sets_of(groups)
