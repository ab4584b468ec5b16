"""What an output folder keeps can be replaced at any time, and leaves nothing behind."""

from __future__ import annotations

import pytest

from stepreel.choose_again import tune_task
from stepreel.errors import OutputError
from stepreel.tuning.card import read_card
from stepreel.tuning.kept_takes import find_kept_takes
from stepreel.tuning.load import load_kept


def test_what_a_killed_process_left_is_removed(take):
    for name in (".abc.part", ".derived.part", ".track-1-12.safetensors.part"):
        (take / "tuning" / name).write_bytes(b"half")
    (takes,), _ = find_kept_takes(take.parent)
    tune_task(takes, overrides={"key_steps.top": 1})
    assert list((take / "tuning").glob(".*.part")) == []


def test_a_file_that_was_replaced_with_its_card_is_looked_for_again(take):
    before = read_card(take)
    (takes,), _ = find_kept_takes(take.parent)
    tune_task(takes, overrides={"key_steps.n_steps": "3"})
    kept = load_kept(take, before)
    assert kept.card == read_card(take) != before
    assert len(kept.clusterings) == len(kept.card.decodings)


def test_a_file_that_is_gone_is_missing(take):
    (path,) = (take / "tuning").glob("track-1-*")
    path.unlink()
    with pytest.raises(OutputError, match=r"track-1-.*: is missing\. Run `stepreel run`"):
        load_kept(take, read_card(take))
