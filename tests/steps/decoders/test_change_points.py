from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from stepreel.steps.decoders.change_points import (
    CLEAR,
    SCALES,
    find_changes,
    likeness,
    main_directions,
    random_track,
    reduced,
    segment_costs,
    standard_cells,
)
from stepreel.steps.decoders.segmentations import (
    agreement,
    best_borders,
    natural_numbers,
    trace,
)


def times(n_moments, rate=4.0):
    return np.arange(n_moments) / rate


def clear_steps(lengths, *, width=20, seed=0, noise=0.5):
    """Return (T, width): every step has a mean of its own."""
    rng = np.random.default_rng(seed)
    step = np.repeat(np.arange(len(lengths)), lengths)
    return (rng.normal(size=(len(lengths), width))[step] * 2).astype(np.float32) + rng.normal(
        scale=noise, size=(len(step), width)
    ).astype(np.float32)


def noise(n_moments, seed=0, width=20):
    return np.random.default_rng(seed).normal(size=(n_moments, width)).astype(np.float32)


def likeness_of_all(track, width):
    """Return exp(-d²/median d²) of all pairs, by a plain double loop."""
    x = gaussian_filter1d(track, width, axis=0, mode="nearest")
    squares = np.array([[((a - b) ** 2).sum() for b in x] for a in x])
    return np.exp(-squares / np.median(squares[np.tril_indices(len(x), -1)]))


@pytest.mark.parametrize("seed", range(6))
def test_best_borders_are_those_of_all_segmentations_tried_one_by_one(seed):
    n, longest = 8, 5
    rng = np.random.default_rng(seed)
    cost = np.full((n + 1, longest + 1), np.inf)
    for end in range(1, n + 1):
        for length in range(1, min(end, longest) + 1):
            cost[end, length] = rng.random()
    totals, last = best_borders(cost, n)
    for number in range(1, n + 1):
        tried = {}
        for inner in itertools.combinations(range(1, n), number - 1):
            cuts = (0, *inner, n)
            if max(np.diff(cuts)) <= longest:
                tried[cuts] = sum(cost[b, b - a] for a, b in itertools.pairwise(cuts))
        if not tried:
            assert totals[number - 1] == np.inf
            continue
        assert totals[number - 1] == pytest.approx(min(tried.values()))
        assert tuple(trace(last, number)) == min(tried, key=tried.__getitem__)


def test_a_segment_costs_its_scatter_in_the_kernel():
    track = np.asarray(clear_steps([4, 5], width=3), np.float64)
    cost, _ = segment_costs([track], 9, step=2.0, expected=2.0)
    like = np.mean([likeness_of_all(track, scale * 2.0) for scale in SCALES], axis=0)
    for end in range(1, 10):
        for length in range(1, end + 1):
            inside = like[end - length : end, end - length : end]
            assert cost[end, length] == pytest.approx(length - inside.sum() / length)


def test_cells_alike_have_likeness_one_and_those_before_the_start_none():
    like = likeness(np.array([[0.0], [0.0], [3.0]]), n_lags=2)
    assert like[0].tolist() == [1, 0, 0]
    assert like[1].tolist() == [1, 1, 0]
    assert like[2, 1] == like[2, 2] == pytest.approx(np.exp(-1))


def test_cells_are_means_of_moments_and_gaps_take_the_nearest_valid_moment():
    x = np.array([[1, 5], [3, 5], [np.nan, np.nan], [7, 5], [9, 5]], np.float32)
    seen = np.array([True, True, False, True, True])
    cells = standard_cells(x, seen, per_cell=2)  # means 2, (3 + 7) / 2 and 9
    expected = (np.array([2, 5, 9]) - 16 / 3) / np.std([2, 5, 9])
    assert cells[:, 0] == pytest.approx(expected)
    assert cells[:, 1].tolist() == [0, 0, 0]


@pytest.mark.parametrize("n_cells", [40, 400])  # fewer and more than columns
def test_main_directions_are_those_of_a_singular_value_decomposition(n_cells):
    x = noise(n_cells, width=60) * np.linspace(1, 3, 60)
    x -= x.mean(axis=0)
    directions = main_directions(x)
    expected = np.linalg.svd(x, full_matrices=False)[2][:12]
    assert np.abs(directions.T @ expected.T).max(axis=0) == pytest.approx(np.ones(12))
    assert directions.T @ directions == pytest.approx(np.eye(12), abs=1e-6)


def test_few_columns_are_kept_as_they_are_and_rare_extremes_are_clipped():
    x = np.zeros((100, 2))
    x[50, 0] = 1.0
    assert main_directions(x).tolist() == [[1], [0]]
    assert reduced(x, main_directions(x)).max() == pytest.approx(2.5 * x[:, 0].std())


def test_a_random_track_has_the_same_spectrum():
    track = np.cumsum(noise(64, width=2), axis=0)
    other = random_track(np.asarray(track, np.float64), np.random.default_rng(0))
    assert other.shape == track.shape
    assert not np.allclose(other, track)
    assert other.std() == pytest.approx(track.std(), rel=0.6)


def test_clear_steps_are_found_within_a_cell():
    lengths = [40, 26, 34, 20, 44, 30, 36, 22, 48, 40]
    found = find_changes(times(340), {"a": clear_steps(lengths)})
    cell = 0.25  # 85 s: a typical step is 5.2 s, and a 25th of it less than a moment
    assert found.structure > CLEAR
    assert found.borders == pytest.approx(np.cumsum(lengths)[:-1] / 4, abs=cell)
    assert found.segments[[0, 39, 41, 339]].tolist() == [0, 0, 1, 9]
    assert (found.edges[0], found.edges[-1]) == (0.0, 85.0)


def test_two_cues_each_show_some_of_the_borders():
    first, second = clear_steps([60, 90, 90]), clear_steps([120, 60, 60], seed=1)
    found = find_changes(times(240), {"first": first, "second": second}, steps=5)
    assert found.borders == pytest.approx([15, 30, 37.5, 45], abs=0.5)


def test_noise_gives_equal_parts_and_little_structure():
    found = find_changes(times(300), {"a": noise(300)})
    assert found.structure <= CLEAR
    lengths = np.diff(found.cuts)
    assert lengths.max() - lengths.min() <= 1


@pytest.mark.parametrize("n_moments", [1, 2, 3, 10, 200])
@pytest.mark.parametrize("wanted", [1, 2, 7])
@pytest.mark.parametrize("kind", ["noise", "constant", "steps"])
def test_exactly_as_many_segments_as_wanted(n_moments, wanted, kind):
    x = {
        "noise": noise(n_moments),
        "constant": np.ones((n_moments, 3), np.float32),
        "steps": clear_steps([n_moments // 2, n_moments - n_moments // 2]),
    }[kind]
    found = find_changes(times(n_moments), {"a": x}, steps=wanted)
    assert len(found.edges) - 1 == min(wanted, n_moments)
    assert (np.diff(found.edges) > 0).all()
    assert found.segments.tolist() == sorted(found.segments)
    assert set(found.segments) == set(range(min(wanted, n_moments)))
    assert ((found.certainty > 0) & (found.certainty <= 1)).all()


@pytest.mark.parametrize(("fewest", "most"), [(1, 3), (8, 9), (12, 40)])
def test_the_number_of_segments_keeps_within_its_range(fewest, most):
    found = find_changes(times(240), {"a": clear_steps([60, 40, 40, 60, 40])}, steps=(fewest, most))
    assert fewest <= len(found.edges) - 1 <= most


def test_a_recording_that_never_changes_gives_as_many_equal_parts_as_usual():
    found = find_changes(times(240), {"a": np.ones((240, 5), np.float32)})
    assert np.diff(found.edges) == pytest.approx(np.full(14, 60 / 14), abs=0.25)
    assert (found.structure, dict(found.cells)) == (0.0, {})


def test_a_cue_that_was_never_seen_changes_nothing():
    x, unseen = clear_steps([40, 40, 40]), np.full((120, 2), np.nan, np.float32)
    valid = {"a": np.ones(120, bool), "b": np.zeros(120, bool)}
    both = find_changes(times(120), {"a": x, "b": unseen}, valid)
    alone = find_changes(times(120), {"a": x})
    assert both.edges.tolist() == alone.edges.tolist()
    assert list(both.cells) == ["a"]


def test_invalid_moments_are_not_looked_at():
    x, valid = clear_steps([40, 40, 40]), np.ones(120, bool)
    valid[50:60] = False
    x[~valid] = np.nan
    found = find_changes(times(120), {"a": x}, {"a": valid}, steps=3)
    assert found.borders == pytest.approx([10, 20], abs=0.25)
    assert np.isfinite(found.certainty).all()


def test_a_gap_of_years_does_not_count_as_length():
    x, with_gap = clear_steps([40, 40, 40]), times(120)
    with_gap[60:] += 1e8
    found, plain = find_changes(with_gap, {"a": x}), find_changes(times(120), {"a": x})
    assert found.cuts.tolist() == plain.cuts.tolist()


def test_values_of_any_size_give_the_same_borders():
    x = clear_steps([40, 40, 40])
    small, large = (find_changes(times(120), {"a": x * factor}) for factor in (1e-3, 1e36))
    assert small.edges.tolist() == large.edges.tolist()


def test_the_same_seed_gives_the_same_and_no_seed_the_best_borders():
    x = noise(300)
    first, second = (find_changes(times(300), {"a": x}, seed=3) for _ in range(2))
    assert first.structure == second.structure
    assert first.edges.tolist() == second.edges.tolist()
    unchecked = find_changes(times(300), {"a": x}, seed=None)
    assert unchecked.structure is None
    assert unchecked.edges.tolist() != first.edges.tolist()


def test_certainty_is_how_often_a_cell_is_with_its_middle_and_less_near_borders():
    found = [np.array([0, 4, 8]), np.array([0, 2, 4, 8])]
    certainty = agreement(8, found, blur=1e-9)
    assert certainty == pytest.approx([0.5, 0.5, 1, 1, 1, 1, 1, 1])
    blurred = agreement(8, found[:1], blur=1.0)
    assert blurred[[0, 1]] == pytest.approx(1 - 0.5 * np.exp([-0.5, -1.5]))


def test_numbers_are_natural_that_stay_best_while_the_price_of_a_border_grows():
    # Three pairs of steps that differ little within a pair.
    totals = np.array([100.0, 70.0, 40.0, 37.0, 34.0, 31.0, 30.8, 30.6, 30.4, 30.2])
    assert natural_numbers(totals, 6) == [3]
    assert natural_numbers(totals, 3) == [6]


def test_what_is_near_or_far_from_the_number_found_is_no_other_number():
    totals = 1000.0 / np.arange(1, 101)
    for number in (10, 20):
        others = natural_numbers(totals, number)
        assert 0 < len(others) <= 3
        assert all(number / 4 <= other <= 2 * number for other in others)
        numbers = sorted([number, *others])
        assert all(b >= 1.4 * a for a, b in itertools.pairwise(numbers))


def test_another_number_of_steps_is_cut_where_the_recording_changes_too():
    found = find_changes(times(340), {"a": clear_steps([60, 40, 80, 60, 100])})
    fewer = find_changes(times(340), {"a": clear_steps([60, 40, 80, 60, 100])}, steps=3)
    assert found.structure > CLEAR
    assert fewer.structure == found.structure
    equal = np.linspace(0, 85, 4)[1:-1]
    assert np.abs(fewer.borders - equal).max() > 1
