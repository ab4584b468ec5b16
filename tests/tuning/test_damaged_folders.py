"""What an output folder keeps is refused, or made again, when it is damaged."""

from __future__ import annotations

import json

import numpy as np
import pytest

from stepreel import pipeline
from stepreel.choose_again import tune_task
from stepreel.errors import OutputError
from stepreel.system.checked_arrays import CheckedArrays, write_arrays
from stepreel.system.store import Store
from stepreel.tuning.card import read_card
from stepreel.tuning.kept_takes import find_kept_takes
from stepreel.tuning.load import load_kept


def change_card(take, change):
    path = take / "tuning" / "recording.json"
    card = json.loads(path.read_text())
    change(card)
    path.write_text(json.dumps(card))


def change_arrays(take, stem, change):
    (path,) = (take / "tuning").glob(f"{stem}-*")
    arrays = CheckedArrays.open(path).read_all()
    changed = {name: change(name, array) for name, array in arrays.items()}
    write_arrays(path, {name: array for name, array in changed.items() if array is not None}, {})


def only(changed, change):
    """Change one array, and leave the others."""
    return lambda name, array: change(array) if name == changed else array


@pytest.mark.parametrize(
    "change",
    [
        {"task_names": []},
        {"task": ["other"]},
        {"file": None},
        {"pictures": None},
        {"video": None},
        {"moment_seconds": 1e-300},
        {"moment_seconds": 1e-8},
        {"moment_seconds": 1e8},
        {"duration_seconds": 1e300},
        {"start_seconds": float("nan")},
        {"tracks": {}},
        {"decodings": []},
    ],
)
def test_a_card_that_contradicts_itself_is_damaged(take, change):
    change_card(take, lambda card: card.update(change))
    with pytest.raises(OutputError, match=r"json: is damaged \(.*\)\. Run `stepreel run`"):
        load_kept(take)


@pytest.mark.parametrize("settings", [{"key_steps": [1]}, {"key_steps": {"top": "x"}}, {"no": {}}])
def test_settings_of_a_card_are_checked(take, settings):
    change_card(take, lambda card: card["decodings"][0].update(settings=settings))
    with pytest.raises(OutputError, match="is damaged"):
        read_card(take)


def test_a_recording_does_not_end_before_its_moments(take):
    change_card(take, lambda card: card.update(duration_seconds=0.5))
    with pytest.raises(OutputError, match="ends before its moments do"):
        load_kept(take)


@pytest.mark.parametrize(
    ("stem", "change"),
    [
        ("track-1", only("times", lambda times: None)),
        ("track-1", only("times", lambda times: times * np.nan)),
        ("track-1", only("times", lambda times: times[::-1])),
        ("track-1", only("times", lambda times: times * 1e12)),
        ("track-1", only("times", lambda times: times.astype(np.int64))),
        ("track-1", lambda name, array: array[:0]),
        ("track-1", only("features", lambda features: features[0])),
        ("track-1", only("features", lambda features: features * np.nan)),
        ("pictures", only("sizes", lambda sizes: sizes[:0])),
        ("pictures", only("sizes", lambda sizes: None)),
        ("pictures", only("sizes", lambda sizes: sizes * 10**12)),
        ("pictures", only("sizes", lambda sizes: sizes - 1)),
        ("pictures", only("jpeg", lambda jpeg: None)),
        ("decoded", only("labels", lambda labels: labels + 500)),
        ("decoded", only("labels", lambda labels: labels - 1)),
        ("decoded", only("labels", lambda labels: labels.astype(np.float64))),
        ("decoded", only("distances", lambda distances: distances * np.nan)),
        ("decoded", only("certainty", lambda certainty: certainty + 500)),
        ("decoded", only("excluded", lambda excluded: excluded[:, :3])),
        ("decoded", lambda name, array: array[:0]),
    ],
)
def test_arrays_that_cannot_be_what_was_written_are_damaged(take, stem, change):
    if len(list((take / "tuning").glob(f"{stem}-*"))) > 1:
        main = read_card(take).main.file
        for path in (take / "tuning").glob(f"{stem}-*"):
            if path.name != main:
                path.unlink()
    change_arrays(take, stem, change)
    with pytest.raises(OutputError, match=rf"{stem}-.*: is damaged \(.*\)\. Run `stepreel run`"):
        load_kept(take)


def test_tracks_of_unlike_length_are_damaged(tmp_path):
    rng = np.random.default_rng(0)
    cues = {"a": rng.normal(size=(60, 3)), "a/b": rng.normal(size=(60, 2))}
    np.savez(tmp_path / "take.npz", times=np.arange(60) / 4, **cues)
    pipeline.run([tmp_path / "take.npz"], Store(tmp_path / "cache"), output=tmp_path / "out")
    take = tmp_path / "out" / "take"
    assert len(load_kept(take).recording.tracks) == 2
    change_arrays(take, "track-2", only("times", lambda times: times + 1))
    with pytest.raises(OutputError, match=r"track-2.* is damaged \(it has other times"):
        load_kept(take)
    change_arrays(take, "track-2", lambda name, array: array[:50])
    with pytest.raises(OutputError, match=r"track-2.* is damaged \(times is float64"):
        load_kept(take)


def test_arrays_that_need_more_memory_than_there_is_are_not_read(take, monkeypatch):
    monkeypatch.setattr("stepreel.system.machine.free_memory", lambda: 100)
    (path,) = (take / "tuning").glob("track-1-*")
    monkeypatch.setattr(CheckedArrays, "read", lambda self, name: pytest.fail("was read"))
    card = read_card_without_limit(take, monkeypatch)
    with pytest.raises(OutputError, match=f"{path.name}: is damaged .*of memory"):
        load_kept(take, card)


def read_card_without_limit(take, monkeypatch):
    with monkeypatch.context() as context:
        context.setattr("stepreel.system.machine.free_memory", lambda: None)
        return read_card(take)


@pytest.mark.parametrize(
    "damage", [b"", b"x" * 100, None], ids=["empty", "something else", "removed"]
)
def test_without_what_was_derived_it_is_made_again(take, damage):
    (path,) = (take / "tuning").glob("derived-*")
    path.unlink()
    if damage is not None:
        path.write_bytes(damage)
    (takes,), _ = find_kept_takes(take.parent)
    tuned = tune_task(takes, overrides={"key_steps.n_steps": "3"})
    assert len(tuned.results[0].steps) == 3
    assert read_card(take).derived is not None
