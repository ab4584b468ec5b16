"""Arrays made from tracks: each is made once, and none is mistaken for another."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from steps.decoders.tasks import recurring, takes_of

from stepreel.derived import Derived
from stepreel.steps.decoders import changes, hmm
from stepreel.steps.evidence import projected_features
from stepreel.system.checked_arrays import CheckedArrays, write_arrays


def nothing_to_make():
    raise AssertionError("made again")


def test_an_array_is_made_once():
    derived = Derived()
    made = derived.get(("cells", "a", 3), lambda: np.arange(3))
    assert derived.get(("cells", "a", 3), nothing_to_make) is made
    assert derived.part("every", 2).get(("cells", "a", 3), lambda: np.zeros(1)).tolist() == [0.0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("cells", "a/b"), ("cells", "a")),
        (("cells", ("a,b",)), ("cells", ("a", "b"))),
        (("cells", "a", "b"), ("cells", "a")),
        (("cells", None), ("cells", "null")),
        (("cells", 1), ("cells", "1")),
    ],
)
def test_names_that_look_alike_are_not_confused(first, second, tmp_path):
    derived = Derived()
    derived.get_all(first, lambda: {"b/x": np.zeros(2), "": np.zeros(1)})
    derived.get_all(second, lambda: {"x": np.ones(1)})
    write_arrays(tmp_path / "file", derived.arrays(), {})
    for one in (derived, Derived.from_arrays(CheckedArrays.open(tmp_path / "file").read_all())):
        assert set(one.get_all(first, nothing_to_make)) == {"b/x", ""}
        assert set(one.get_all(second, nothing_to_make)) == {"x"}


def test_names_can_have_any_characters(tmp_path):
    name = ("cells", 'quote" \\ / , \n é \ud800 __metadata__', (2, 0.1, None))
    derived = Derived().part("every", 3)
    derived.get_all(name, lambda: {"é\udcff": np.ones(1)})
    write_arrays(tmp_path / "file", derived.arrays(), {})
    read = Derived.from_arrays(CheckedArrays.open(tmp_path / "file").read_all())
    assert list(read.part("every", 3).get_all(name, nothing_to_make)) == ["é\udcff"]


@pytest.mark.parametrize(
    "text",
    ["cells/a/3", "[]", "3", '["a", "b", "c"]', '[[], [], ""]', '[[], ["a"], 3]', "[" * 9999],
)
def test_arrays_with_other_names_are_left_out(text):
    assert Derived.from_arrays({text: np.zeros(1)}).arrays() == {}


def test_many_threads_can_ask_at_once():
    derived = Derived.from_arrays({f'[[], ["cells", {i}], "x"]': np.zeros(1) for i in range(60)})

    def ask(number):
        return set(derived.get_all(("new", number), lambda: {"a": np.zeros(3), "b": np.zeros(3)}))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(keys == {"a", "b"} for keys in pool.map(ask, range(300)))
            assert all(len(x) >= 60 for x in pool.map(lambda _: derived.arrays(), range(20)))
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("decoder", [changes, hmm])
def test_cues_whose_names_contain_one_another_are_decoded_as_if_alone(decoder):
    (recording,), _ = recurring(1, visits=3, cues=("a/b", "a"))
    (again,), _ = recurring(1, visits=3, cues=("a/b", "a"))
    decoder.decode(takes_of([recording], **{"embed.cues": ["a/b"]}))
    after = decoder.decode(takes_of([recording], **{"embed.cues": ["a"]}))
    alone = decoder.decode(takes_of([again], **{"embed.cues": ["a"]}))
    assert after.clusterings[0].labels.tolist() == alone.clusterings[0].labels.tolist()


def kept_and_loaded(recording, folder):
    """Write what was made from a recording; return the recording with it, and its arrays."""
    write_arrays(folder / "derived", recording.derived.arrays(), {})
    arrays = CheckedArrays.open(folder / "derived").read_all()
    return replace(recording, derived=Derived.from_arrays(arrays)), arrays


@pytest.mark.parametrize("decoder", [changes, hmm])
@pytest.mark.parametrize("n_takes", [1, 2])
def test_what_was_kept_is_used_again(decoder, n_takes, tmp_path):
    recordings, _ = recurring(n_takes, visits=3)
    before = decoder.decode(takes_of(recordings))
    projected_features(recordings[0])
    loaded, arrays = kept_and_loaded(recordings[0], tmp_path)
    after = decoder.decode(takes_of([loaded, *recordings[1:]]))
    projected_features(loaded)
    kept = loaded.derived.arrays()
    assert kept.keys() == arrays.keys()
    assert all(kept[name] is arrays[name] for name in arrays)
    assert after.clusterings[0].labels.tolist() == before.clusterings[0].labels.tolist()


@pytest.mark.parametrize("decoder", [changes, hmm])
@pytest.mark.parametrize(
    "damage",
    [
        lambda array: array[:1],
        lambda array: array[:0],
        lambda array: array.astype(np.float16),
        lambda array: array[None],
        lambda array: array * np.nan if array.dtype.kind == "f" else array + 500,
    ],
)
def test_what_does_not_fit_the_tracks_is_made_again(decoder, damage, tmp_path):
    (recording,), _ = recurring(1, visits=3)
    before = decoder.decode(takes_of([recording]))
    features = projected_features(recording).together
    _, arrays = kept_and_loaded(recording, tmp_path)
    damaged = {name: damage(array) for name, array in arrays.items()}
    loaded = replace(recording, derived=Derived.from_arrays(damaged))
    after = decoder.decode(takes_of([loaded]))
    assert after.clusterings[0].labels.tolist() == before.clusterings[0].labels.tolist()
    assert np.array_equal(projected_features(loaded).together, features)


def test_only_what_was_asked_for_last_is_kept():
    arrays = {}
    for window in range(9):
        derived = Derived.from_arrays(arrays)
        derived.get(("context", window), lambda: np.zeros(1))
        arrays = derived.arrays()
    assert list(arrays) == ['[[], ["context", 8], ""]']


def test_what_nobody_asked_for_in_any_way_stays():
    derived = Derived.from_arrays({'[[], ["context", 8], ""]': np.zeros(1)})
    derived.get(("projected",), lambda: np.zeros(1))
    assert len(derived.arrays()) == 2
