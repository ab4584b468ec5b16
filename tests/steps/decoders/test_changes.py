from __future__ import annotations

import itertools

import numpy as np
import pytest

from stepreel.config import KeyStepSettings, Settings
from stepreel.features.feature_files import recording_from_arrays
from stepreel.steps.decoders.base import Takes
from stepreel.steps.decoders.changes import CHANGES, FOUND, NOT_FOUND
from stepreel.steps.decoders.segment_kinds import group, nearest_apart, settle

RATE = 4.0
ORDER, LENGTHS = "ABCADBCE", [40, 26, 34, 44, 30, 36, 28, 42]


def settings(n_clusters=5, *, n_steps=None, cues="all", seed=0):
    plain = Settings()
    key_steps = KeyStepSettings(n_clusters=n_clusters, n_steps=n_steps)
    return plain.model_copy(
        update={
            "key_steps": key_steps,
            "embed": plain.embed.model_copy(update={"cues": cues}),
            "train": plain.train.model_copy(update={"seed": seed}),
        }
    )


def steps(order=ORDER, lengths=LENGTHS, *, seed=0, width=16, noise=0.5, drift=0.0):
    """Return (T, width): a letter has the same mean wherever it recurs."""
    means = {name: np.random.default_rng(ord(name)).normal(size=width) * 2 for name in "ABCDEFGH"}
    rng = np.random.default_rng(seed)
    x = np.concatenate(
        [np.tile(means[name], (n, 1)) for name, n in zip(order, lengths, strict=True)]
    )
    return x + rng.normal(scale=noise, size=x.shape) + drift * np.linspace(0, 1, len(x))[:, None]


def noise(n_moments, seed=0):
    return np.random.default_rng(seed).normal(size=(n_moments, 16))


def take(x, name="r", **more):
    """Make a recording; `more` are further cues, and masks as `<cue>_valid`."""
    arrays = {"a": np.asarray(x, np.float32), **more}
    cues = [cue for cue in arrays if not cue.endswith("_valid")]
    return recording_from_arrays(name, np.arange(len(x)) / RATE, arrays, cues=cues)


def decode(*recordings, **choice):
    return CHANGES.decode(Takes(recordings, None, settings(**choice)))


def find_again(kinds, *recordings, **choice):
    return CHANGES.find_again(Takes(recordings, None, settings(**choice)), kinds)


def letters(clustering):
    """Return one letter per run of labels."""
    runs = [int(label) for label, _ in itertools.groupby(clustering.labels)]
    return "".join("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[label] for label in runs)


def borders(clustering):
    return np.flatnonzero(np.diff(clustering.labels)) + 1


def test_steps_that_recur_share_a_letter_and_begin_where_they_change():
    found = decode(take(steps()))
    (clustering,) = found.clusterings
    assert letters(clustering) == ORDER
    assert borders(clustering) == pytest.approx(np.cumsum(LENGTHS)[:-1], abs=1)
    assert clustering.n_clusters == 5
    assert clustering.uncertain is None
    assert not clustering.excluded.any()


def test_without_a_limit_there_are_as_many_kinds_as_steps_that_differ():
    order = "ABCDEFGH"
    (limited,) = decode(take(steps(order)), n_clusters=5).clusterings
    (free,) = decode(take(steps(order)), n_clusters=None).clusterings
    assert limited.n_clusters == 5
    assert letters(free) == order
    assert free.n_clusters == 8


def test_the_middle_of_a_segment_shows_it_best():
    (clustering,) = decode(take(steps())).clusterings
    starts = np.concatenate([[0], borders(clustering)])
    first = slice(starts[0], starts[1])
    assert abs(int(clustering.distances[first].argmin()) - LENGTHS[0] / 2) <= 1
    assert clustering.certainty.dtype == clustering.distances.dtype == np.float32


def test_slow_drift_does_not_keep_recurring_steps_apart():
    (clustering,) = decode(take(steps(ORDER * 2, LENGTHS * 2, drift=6.0))).clusterings
    assert letters(clustering) == ORDER * 2


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_fewer_kinds_cost_no_border(n_clusters):
    (free,) = decode(take(steps()), n_clusters=100).clusterings
    (limited,) = decode(take(steps()), n_clusters=n_clusters).clusterings
    assert limited.labels.max() < limited.n_clusters <= n_clusters
    assert borders(limited).tolist() == borders(free).tolist()


def test_one_kind_leaves_one_step():
    (clustering,) = decode(take(steps()), n_clusters=1).clusterings
    assert set(clustering.labels) == {0}


def test_letters_mean_the_same_in_all_takes():
    other, lengths = "BCADEBAC", [30, 40, 36, 28, 44, 34, 40, 26]
    decoded = decode(take(steps()), take(steps(other, lengths, seed=1), "s"))
    assert [letters(one) for one in decoded.clusterings] == [ORDER, other]
    assert {one.n_clusters for one in decoded.clusterings} == {5}
    assert decoded.decision is None


def test_the_kinds_of_a_take_are_found_again_in_it():
    decoded = decode(take(steps()), n_clusters=4)
    again = find_again(decoded.kinds, take(steps()), n_clusters=4)
    assert again.clusterings[0].labels.tolist() == decoded.clusterings[0].labels.tolist()
    assert again.decision == decoded.decision
    assert {name: x.dtype for name, x in decoded.kinds.items()} == {
        "directions.a": np.float32,
        "means.a": np.float32,
    }


def test_the_kinds_of_a_take_are_found_in_a_later_one():
    kinds = decode(take(steps())).kinds
    later, lengths = "CABDCEAB", [36, 28, 40, 34, 30, 44, 26, 40]
    again = find_again(kinds, take(steps(later, lengths, seed=5)))
    assert letters(again.clusterings[0]) == later
    assert again.clusterings[0].n_clusters == 5


def test_a_cue_that_a_later_take_does_not_show_is_left_out_of_the_comparison():
    second = steps(seed=2).astype(np.float32)
    kinds = decode(take(steps(), b=second)).kinds
    assert sorted(kinds) == ["directions.a", "directions.b", "means.a", "means.b"]
    unseen = np.zeros(len(second), bool)
    again = find_again(kinds, take(steps(seed=3), b=second, b_valid=unseen))
    assert letters(again.clusterings[0]) == ORDER


def test_a_later_take_that_never_changes_shows_one_kind_after_the_other():
    again = find_again(decode(take(steps())).kinds, take(np.ones((240, 16))))
    assert letters(again.clusterings[0]) == "ABCDEABCDEABCD"


def test_without_its_arrays_a_model_is_refused():
    with pytest.raises(KeyError, match=r"means\.a"):
        find_again({"centres": np.zeros((2, 2), np.float32)}, take(steps()))


def test_clear_structure_is_said_and_so_is_little():
    clear = decode(take(steps())).decision
    assert clear.sentence == FOUND
    assert clear.figures["structure"] > 2
    assert clear.figures["segments"] == 8
    little = decode(take(noise(300))).decision
    assert little.sentence == NOT_FOUND
    assert little.figures["structure"] <= 2


def test_parts_of_noise_are_equal():
    (clustering,) = decode(take(noise(300))).clusterings
    lengths = np.diff(np.concatenate([[0], borders(clustering), [300]]))
    assert lengths.max() - lengths.min() <= 1


def test_a_take_that_never_changes_has_nothing_to_find_again():
    decoded = decode(take(np.ones((240, 3))), n_clusters=7)
    assert decoded.kinds == {}
    assert letters(decoded.clusterings[0]) == "ABCDEFGABCDEFG"
    assert decoded.clusterings[0].n_clusters == 7


def test_a_take_that_never_changes_is_no_trouble_among_others():
    decoded = decode(take(steps()), take(np.ones((240, 16)), "still"))
    assert letters(decoded.clusterings[0]) == ORDER
    assert decoded.clusterings[1].labels.max() < decoded.clusterings[1].n_clusters == 5


@pytest.mark.parametrize("n_moments", [1, 2, 3])
def test_few_moments_are_enough(n_moments):
    decoded = decode(take(noise(n_moments)))
    (clustering,) = decoded.clusterings
    assert len(clustering.labels) == n_moments
    assert np.isfinite(clustering.certainty).all()
    assert len(decoded.again(0)[0].labels) == n_moments


def test_moments_at_which_no_cue_is_valid_belong_to_no_step():
    x = steps()
    one, two = np.ones(len(x), bool), np.ones(len(x), bool)
    one[90:120], two[100:130] = False, False
    x[~one] = np.nan
    second = steps(seed=1).astype(np.float32)
    (clustering,) = decode(take(x, a_valid=one, b=second, b_valid=two)).clusterings
    assert np.flatnonzero(clustering.excluded).tolist() == list(range(100, 120))
    assert borders(clustering)[:2] == pytest.approx([40, 66], abs=1)
    assert np.isfinite(clustering.certainty).all()


def test_only_the_cues_of_the_settings_are_looked_at():
    x, other = steps(), noise(280, seed=3).astype(np.float32)
    chosen = decode(take(x, b=other), cues="main")
    assert chosen.clusterings[0].labels.tolist() == decode(take(x)).clusterings[0].labels.tolist()
    assert sorted(chosen.kinds) == ["directions.a", "means.a"]


@pytest.mark.parametrize("n_steps", [(3, 3), (12, 12), (4, 6)])
def test_the_number_of_steps_can_be_given(n_steps):
    (clustering,) = decode(take(steps()), n_steps=n_steps).clusterings
    assert n_steps[0] <= len(letters(clustering)) <= n_steps[1]


def test_the_same_seed_gives_the_same():
    first, second = (decode(take(noise(300)), seed=4) for _ in range(2))
    assert first.clusterings[0].labels.tolist() == second.clusterings[0].labels.tolist()
    assert first.decision == second.decision
    once, twice = (decoded.again(1)[0].labels.tolist() for decoded in (first, second))
    assert once == twice


def test_clear_steps_are_found_again_from_half_of_the_columns_and_noise_is_not():
    clear, unclear = decode(take(steps())), decode(take(noise(300)))
    for seed in range(3):
        assert borders(clear.again(seed)[0]) == pytest.approx(np.cumsum(LENGTHS)[:-1], abs=1)
    found = {tuple(borders(unclear.again(seed)[0])) for seed in range(3)}
    assert len(found) == 3


def test_a_single_column_is_a_half():
    decoded = decode(take(steps(width=1, noise=0.2)))
    assert len(decoded.again(0)[0].labels) == sum(LENGTHS)


@pytest.mark.parametrize("seed", range(5))
def test_nearest_apart_is_the_best_of_all_ways_in_which_neighbours_differ(seed):
    distances = np.random.default_rng(seed).random((6, 3))
    ways = [
        way
        for way in itertools.product(range(3), repeat=6)
        if all(a != b for a, b in itertools.pairwise(way))
    ]
    best = min(ways, key=lambda way: distances[range(6), way].sum())
    assert tuple(nearest_apart(distances)) == best
    assert nearest_apart(distances[:, :1]).tolist() == [0] * 6


def test_segments_clearly_alike_are_grouped_unless_they_are_neighbours():
    means = [np.array([[0.0], [0.01], [9.0], [20.0], [0.02], [40.0]])]
    halves = np.full(6, 1.0)
    groups = group(means, halves, n_kinds=6)
    same = [{i for i in range(6) if groups[i] == g} for g in dict.fromkeys(groups)]
    assert {1, 4} in same or {0, 4} in same
    assert groups[0] != groups[1]
    assert len(same) == 5


def test_the_last_and_first_segment_of_two_takes_are_no_neighbours():
    means = [np.array([[0.0], [5.0]]), np.array([[5.0], [0.0]])]
    groups = group(means, np.full(4, 1.0), n_kinds=4)
    assert groups[1] == groups[2]
    assert groups[0] == groups[3]


def test_settling_moves_segments_to_the_nearest_kind():
    means = [np.array([[0.0], [10.0], [1.0], [11.0]])]
    assert settle(means, np.array([0, 1, 1, 1])).ravel().tolist() == [0.5, 10.5]
