"""How many kinds of steps there are: found without labels, within what was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from steps.decoders.tasks import in_order, noise, recurring, takes_of

from stepreel.steps.decoders import auto
from stepreel.steps.decoders.auto import found_number
from stepreel.steps.decoders.number import (
    NUMBERS,
    least_number,
    number_of_kinds,
    usual_number,
)
from stepreel.steps.decoders.timed_points import fit_points


def open_takes(recordings, wanted="auto"):
    """Takes whose number of kinds has to be found, perhaps within a range."""
    return takes_of(recordings, n_clusters="auto", **{"key_steps.clusters_range": wanted})


def shares_of(*first):
    """Shares explained by 2, 3, … kinds; more kinds explain as much as the last one given."""
    return [*first, *[first[-1]] * (len(NUMBERS) - len(first))]


@pytest.mark.parametrize(
    ("shares", "level", "number"),
    [
        (shares_of(0.1, 0.3, 0.38, 0.4), 0.7, 3),  # 0.28 is enough
        (shares_of(0.1, 0.3, 0.38, 0.4), 0.85, 4),  # 0.34
        (shares_of(0.1, 0.3, 0.38, 0.4), 0.25, 2),  # 0.1: just enough
        (shares_of(0.1, 0.3, 0.38, 0.4), 1.0, 5),
        (shares_of(0.1, 0.2, 0.5, 0.4, 0.3), 0.7, 4),  # the best one is not the last
        (shares_of(-0.2, -0.1, 0.01, -0.3), 0.7, 4),  # what explains less than nothing never counts
        ([0.0] * 15 + [0.2], 0.7, 20),  # numbers are not all next to each other
    ],
)
def test_the_least_number_that_explains_enough_is_taken(shares, level, number):
    assert least_number(shares, level) == number


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("n_kinds", "visits"), [(4, 9), (8, 18)])
def test_the_number_found_is_near_the_true_one(n_kinds, visits, seed):
    recordings, _ = recurring(10, n_kinds=n_kinds, visits=visits, seed=seed)
    number = found_number(open_takes(recordings))
    assert n_kinds / 1.5 <= number.found <= n_kinds * 1.5
    assert min(number.natural) < number.found < max(number.natural)
    assert auto.decode(open_takes(recordings)).clusterings[0].n_clusters == number.found


def test_more_kinds_are_found_where_there_are_more():
    found = [
        found_number(open_takes(recurring(10, n_kinds=n, visits=2 * n + 1)[0])).found
        for n in (3, 5, 8)
    ]
    assert found == sorted(set(found))


def test_kinds_that_come_once_in_order_are_counted_as_well():
    assert abs(found_number(open_takes(in_order(10, n_kinds=4)[0])).found - 4) <= 1
    assert abs(found_number(open_takes(in_order(10, n_kinds=8)[0])).found - 8) <= 1


@pytest.mark.parametrize(("seconds", "usual"), [(60, 7), (20, 5)])
def test_noise_has_as_many_kinds_as_are_usual_and_no_others_are_natural(seconds, usual):
    takes = open_takes(noise(10, seconds=seconds))
    assert found_number(takes) == (usual, ())
    decoded = auto.decode(takes)
    assert decoded.clusterings[0].n_clusters == usual
    assert decoded.other_numbers == []


@pytest.mark.parametrize(
    ("seconds", "usual"),
    [(2, 2), (5, 3), (20, 5), (60, 7), (3600, 7)],  # 1.8 × 1.26, 1.71, 2.71, 3.91, 15.3
)
def test_short_takes_have_fewer_kinds_and_long_ones_seven(seconds, usual):
    assert usual_number(open_takes(noise(3, seconds=seconds))) == usual


def test_the_usual_number_is_that_of_the_take_in_the_middle():
    lengths = (5, 20, 3600)
    recordings = [noise(1, seconds=seconds)[0] for seconds in lengths]
    assert usual_number(open_takes(recordings)) == 5


@pytest.mark.parametrize(
    ("wanted", "found"), [("2..3", 3), ("5..5", 5), ("9..12", 9), ("25..30", 25), ("1..1", 1)]
)
def test_a_range_is_kept_to_exactly(wanted, found):
    takes = open_takes(recurring(10)[0], wanted)  # without a range, 6 would be found
    fewest, most = map(int, wanted.split(".."))
    number = found_number(takes)
    assert number.found == found
    assert all(fewest <= other <= most for other in number.natural)
    assert auto.decode(takes).clusterings[0].n_clusters == found
    assert fewest <= number_of_kinds(takes, fit_points(takes)[1], np.inf).found <= most


def test_a_wide_range_changes_nothing():
    recordings, _ = recurring(10)
    assert found_number(open_takes(recordings, "1..100")) == found_number(open_takes(recordings))


def test_a_single_take_has_the_usual_number_for_a_decoder_that_must_be_told_one():
    (recording,), _ = recurring(1)
    assert found_number(open_takes([recording])) == (7, ())
    assert found_number(open_takes([recording], "3..5")) == (5, ())


def test_the_same_takes_have_the_same_number():
    takes = open_takes(recurring(10)[0])
    assert found_number(takes) == found_number(takes)


def test_the_number_is_found_from_few_moments_and_few_takes():
    tiny, _ = recurring(3, visits=2)
    moments = [recording.times[-1] for recording in tiny]
    assert max(moments) < 30
    assert 2 <= found_number(open_takes(tiny)).found <= 7
