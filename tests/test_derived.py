"""Arrays made from tracks: each is made once, and none is mistaken for another."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from steps.decoders.tasks import recurring, takes_of

from stepreel.derived import Derived
from stepreel.steps.decoders import changes, hmm
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
    (recording,), _ = recurring(1, cues=("a/b", "a"))
    (again,), _ = recurring(1, cues=("a/b", "a"))
    decoder.decode(takes_of([recording], **{"embed.cues": ["a/b"]}))
    after = decoder.decode(takes_of([recording], **{"embed.cues": ["a"]}))
    alone = decoder.decode(takes_of([again], **{"embed.cues": ["a"]}))
    assert after.clusterings[0].labels.tolist() == alone.clusterings[0].labels.tolist()
