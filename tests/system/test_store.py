from __future__ import annotations

import numpy as np
import pytest

from stepreel.errors import StoreError
from stepreel.system.store import Store, read_facts, write_facts
from stepreel.types import FeatureTrack


def an_entry(tmp_path, **settings):
    return Store(tmp_path).recording_entry("abc", "motion", settings, shard_rows=4)


def arrays(start, stop):
    times = np.arange(start, stop) / 4
    features = np.arange(start * 3, stop * 3, dtype=np.float32).reshape(-1, 3)
    return {"times": times, "features": features, "valid": np.ones(stop - start, bool)}


def test_a_track_is_read_back_unchanged(tmp_path):
    track = FeatureTrack("r", "motion", **arrays(0, 5))
    entry = an_entry(tmp_path)
    entry.write_track(track)
    stored = entry.load_track("r")
    np.testing.assert_array_equal(stored.features, track.features)
    np.testing.assert_array_equal(stored.times, track.times)
    assert repr(stored) == "FeatureTrack('r', 'motion', 5 x 3, 0.0-1.0 s)"


def test_other_settings_use_another_file(tmp_path):
    an_entry(tmp_path, grid=4).write(arrays(0, 2))
    assert an_entry(tmp_path, grid=4).exists()
    assert not an_entry(tmp_path, grid=5).exists()


def test_shards_are_joined_in_order(tmp_path):
    entry = an_entry(tmp_path)
    entry.write_shard(0, arrays(0, 4))
    entry.write_shard(1, arrays(4, 7))
    assert (entry.rows_in_shard(0), entry.rows_in_shard(1), entry.rows_in_shard(2)) == (4, 3, None)
    entry.join_shards(2)
    joined = entry.load()
    for name, expected in arrays(0, 7).items():
        np.testing.assert_array_equal(joined[name], expected)
    assert entry.rows_in_shard(0) is None
    np.testing.assert_array_equal(
        entry.opened().read_rows("features", 2, 4), joined["features"][2:4]
    )


@pytest.mark.parametrize("damage", ["cut", "garbage", "empty"])
def test_a_damaged_file_counts_as_missing(tmp_path, damage, caplog):
    entry = an_entry(tmp_path)
    entry.write(arrays(0, 9))
    whole = entry.path.read_bytes()
    entry.path.write_bytes({"cut": whole[:-10], "garbage": b"x" * 100, "empty": b""}[damage])
    assert not entry.exists()
    assert "damaged" in caplog.text


def test_facts_with_other_settings_are_not_used(tmp_path):
    entry = an_entry(tmp_path, rate=4)
    write_facts(entry, {"n_moments": 5})
    assert read_facts(entry) == {"n_moments": 5}
    assert read_facts(an_entry(tmp_path, rate=2)) is None


def test_damaged_facts_count_as_missing(tmp_path, caplog):
    entry = an_entry(tmp_path)
    file = entry.path.with_suffix(".json")
    write_facts(entry, {"n_moments": 5, "notes": ("one",)})
    whole = file.read_text()
    assert read_facts(entry) == {"n_moments": 5, "notes": ["one"]}
    other = whole.replace('"n_moments": 5', '"n_moments": 6')
    for number, damaged in enumerate(
        ("{", "[]", "null", "", whole[:-9], other, "\0" * 90), start=1
    ):
        file.write_text(damaged)
        assert read_facts(entry) is None
        assert caplog.text.count("is damaged") == number
        assert not file.exists()


def test_damaged_data_count_as_missing_with_one_line_of_warning(tmp_path, caplog):
    entry = an_entry(tmp_path)
    entry.write(arrays(0, 9))
    content = bytearray(entry.path.read_bytes())
    content[-60:-40] = bytes(20)
    entry.path.write_bytes(content)
    assert entry.exists()  # its header is as it was
    assert entry.load() is None
    assert len(caplog.records) == 1
    assert "is damaged (the checksum of block 0 is wrong); making it again" in caplog.text
    assert not entry.exists()


def test_a_damaged_shard_is_not_joined_and_missing_from_then_on(tmp_path, caplog):
    entry = an_entry(tmp_path)
    entry.write_shard(0, arrays(0, 4))
    entry.write_shard(1, arrays(4, 7))
    content = bytearray(entry.shard(1).read_bytes())
    content[-1] ^= 1
    entry.shard(1).write_bytes(content)
    assert not entry.join_shards(2)
    assert caplog.text.count("is damaged") == 1
    assert (entry.rows_in_shard(0), entry.rows_in_shard(1), entry.exists()) == (4, None, False)
    entry.write_shard(1, arrays(4, 7))
    assert entry.join_shards(2)
    assert len(entry.load_track("r")) == 7


def test_a_cache_that_cannot_be_written_is_reported_with_advice(tmp_path):
    (tmp_path / "recordings").write_text("a file where a folder should be")
    with pytest.raises(StoreError, match="--cache"):
        an_entry(tmp_path).write(arrays(0, 2))
