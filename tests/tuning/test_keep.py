"""What an output folder keeps can be replaced at any time, and leaves nothing behind."""

from __future__ import annotations

from stepreel.choose_again import tune_task
from stepreel.tuning.kept_takes import find_kept_takes


def test_what_a_killed_process_left_is_removed(take):
    for name in (".abc.part", ".derived.part", ".track-1-12.safetensors.part"):
        (take / "tuning" / name).write_bytes(b"half")
    (takes,), _ = find_kept_takes(take.parent)
    tune_task(takes, overrides={"key_steps.top": 1})
    assert list((take / "tuning").glob(".*.part")) == []
