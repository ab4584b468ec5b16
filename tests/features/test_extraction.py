from __future__ import annotations

import errno
import os

import av
import cv2
import numpy as np
import pytest
from videos import busy_task, gray, steady, write_video

from stepreel.config import ExtractSettings
from stepreel.errors import RecordingError, StoreError
from stepreel.features.extraction import extract_tracks
from stepreel.features.sources import extract_recordings
from stepreel.system.store import Store
from stepreel.video.decode import probe


class Brightness:
    """A cue with a known result, the mean of the picture; records the moments it has seen."""

    name = "brightness"

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self.seen: list[int] = []

    def settings(self) -> dict[str, object]:
        return {"scale": self.scale}

    def prepare(self, folder):
        assert not folder.exists()

    def extract(self, moments):
        self.seen.extend(m.index for m in moments)
        features = np.array([[m.rgb.mean() * self.scale] for m in moments], np.float32)
        return {"features": features, "valid": np.ones(len(moments), bool)}


class Interrupted(Brightness):
    """The same, but with Ctrl-C in the second shard of four seconds."""

    def extract(self, moments):
        if moments[0].index >= 16:
            raise KeyboardInterrupt
        return super().extract(moments)


@pytest.fixture
def video(tmp_path):
    return write_video(tmp_path / "v.mp4", steady(300), lambda i: gray(20 + i // 2))


def extract(video, tmp_path, cue, **options):
    return extract_tracks(probe(video), [cue], Store(tmp_path / "cache"), rate=4, **options)


def test_every_moment_has_its_own_row(video, tmp_path):
    cue = Brightness()
    extraction = extract(video, tmp_path, cue)
    track = extraction.tracks["brightness"]
    assert track.times.tolist() == [i / 4 for i in range(40)]
    # The frame displayed at i/4 s is 7.5 i, rounded down; its gray level is 20 plus half of that.
    expected = [20 + int(7.5 * i) // 2 for i in range(40)]
    assert track.features[:, 0] == pytest.approx(expected, abs=2.5)
    assert extraction.duration_seconds == pytest.approx(10.0, abs=0.02)
    assert sorted(cue.seen) == list(range(40))


def test_a_second_run_reuses_the_store(video, tmp_path):
    first = extract(video, tmp_path, Brightness())
    cue = Brightness()
    second = extract(video, tmp_path, cue)
    assert cue.seen == []
    np.testing.assert_array_equal(
        first.tracks["brightness"].features, second.tracks["brightness"].features
    )


def test_a_changed_setting_or_file_is_extracted_again(video, tmp_path):
    extract(video, tmp_path, Brightness())
    changed_setting = Brightness(scale=2.0)
    extract(video, tmp_path, changed_setting)
    assert len(changed_setting.seen) == 40
    write_video(video, steady(300), lambda i: gray(21 + i // 2))
    changed_file = Brightness()
    extract(video, tmp_path, changed_file)
    assert len(changed_file.seen) == 40


def test_an_interrupted_extraction_resumes_at_the_first_missing_shard(video, tmp_path):
    whole = extract(video, tmp_path / "a", Brightness(), shard_seconds=4)

    with pytest.raises(KeyboardInterrupt):
        extract(video, tmp_path / "b", Interrupted(), shard_seconds=4)
    cue = Brightness()
    rest = extract(video, tmp_path / "b", cue, shard_seconds=4)
    assert min(cue.seen) == 16
    np.testing.assert_array_equal(
        whole.tracks["brightness"].features, rest.tracks["brightness"].features
    )
    assert [len(whole.previews), whole.previews.jpeg(39)] == [40, rest.previews.jpeg(39)]


def test_damage_found_before_an_interruption_is_still_reported_after_it(tmp_path):
    whole = write_video(tmp_path / "a.mp4", steady(300), busy_task())
    with av.open(str(whole)) as file:
        packet = [packet for packet in file.demux(video=0) if packet.size][20]
        place = slice(packet.pos, packet.pos + packet.size)
    content = bytearray(whole.read_bytes())
    content[place] = bytes(packet.size)
    whole.write_bytes(content)

    with pytest.raises(KeyboardInterrupt):
        extract(whole, tmp_path, Interrupted(), shard_seconds=4)
    rest = extract(whole, tmp_path, Brightness(), shard_seconds=4)
    (note,) = rest.notes
    assert note.startswith("Parts of the video are damaged.")


def test_an_extraction_interrupted_after_a_gap_goes_on_at_the_right_time(tmp_path):
    times = [0.0, 0.5, 300.0, *(300.5 + i / 10 for i in range(300))]
    gap = write_video(tmp_path / "gap.mkv", times, lambda i: gray(20 + i % 200), gop=1)
    whole = extract(gap, tmp_path / "a", Brightness(), shard_seconds=40)

    class InterruptedLater(Brightness):
        def extract(self, moments):
            if moments[0].index >= 320:
                raise KeyboardInterrupt
            return super().extract(moments)

    with pytest.raises(KeyboardInterrupt):
        extract(gap, tmp_path / "b", InterruptedLater(), shard_seconds=40)
    cue = Brightness()
    rest = extract(gap, tmp_path / "b", cue, shard_seconds=40)
    assert min(cue.seen) == 320
    assert rest.times.tolist() == whole.times.tolist()
    assert rest.notes == whole.notes
    assert len(rest.notes) == 1
    np.testing.assert_array_equal(
        whole.tracks["brightness"].features, rest.tracks["brightness"].features
    )
    # Tiles of the strip are evenly spaced in time, also across the gap.
    thumbnails = rest.previews.thumbnails(rest.times)
    assert thumbnails.count * thumbnails.interval_seconds == pytest.approx(330, abs=3)


def test_a_cue_added_later_does_not_extract_the_others_again(video, tmp_path):
    store = Store(tmp_path / "cache")
    extract_tracks(probe(video), [Brightness()], store, rate=4)

    class Darkness(Brightness):
        name = "darkness"

    old, new = Brightness(), Darkness(scale=-1)
    extraction = extract_tracks(probe(video), [old, new], store, rate=4)
    assert (len(old.seen), len(new.seen)) == (0, 40)
    assert list(extraction.tracks) == ["brightness", "darkness"]


def test_a_truncated_file_is_used_as_far_as_possible_with_a_note(tmp_path):
    whole = write_video(tmp_path / "a.mkv", steady(240), busy_task())
    cut = tmp_path / "cut.mkv"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 6 // 10])
    extraction = extract(cut, tmp_path, Brightness())
    assert 8 < len(extraction.times) < 28
    assert "Only the first" in extraction.notes[0]
    assert "of 8.0 s" in extraction.notes[0]


def test_previews_show_moments_and_the_strip_shows_the_whole_video(video, tmp_path):
    extraction = extract(video, tmp_path, Brightness())
    picture = cv2.imdecode(np.frombuffer(extraction.previews.jpeg(20), np.uint8), cv2.IMREAD_COLOR)
    assert picture.shape == (360, 480, 3)
    assert picture.mean() == pytest.approx(20 + 150 // 2, abs=2)
    thumbnails = extraction.previews.thumbnails(extraction.times)
    sheet = cv2.imdecode(np.frombuffer(thumbnails.jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert (thumbnails.count, thumbnails.columns, thumbnails.interval_seconds) == (40, 15, 0.25)
    assert sheet.shape == (3 * 120, 15 * 160, 3)
    assert sheet[60, 80].mean() < sheet[60, 15 * 160 - 80].mean()


def flip(file, place):
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


def zero(file, place):
    content = bytearray(file.read_bytes())
    content[place : place + 40] = bytes(40)
    file.write_bytes(content)


def cut(file, place):
    file.write_bytes(file.read_bytes()[:place])


@pytest.mark.parametrize("damage", [flip, zero, cut])
@pytest.mark.parametrize("name", ["brightness-*.safetensors", "previews-*.safetensors", "facts-*"])
def test_what_is_damaged_is_made_again_with_a_warning(video, tmp_path, name, damage, caplog):
    first = extract(video, tmp_path, Brightness())
    (file,) = tmp_path.glob(f"cache/recordings/*/{name}")
    damage(file, -50)
    cue = Brightness()
    second = extract(video, tmp_path, cue)
    assert [record.getMessage().count("is damaged") for record in caplog.records] == [1]
    assert len(cue.seen) == (40 if name.startswith("brightness") else 0)  # nothing else is made
    np.testing.assert_array_equal(
        first.tracks["brightness"].features, second.tracks["brightness"].features
    )
    assert first.previews.jpeg(39) == second.previews.jpeg(39)
    assert (first.duration_seconds, first.notes) == (second.duration_seconds, second.notes)


def test_however_much_is_damaged_it_is_extracted_again_in_one_go(video, tmp_path, caplog):
    cues = [Brightness(), *(named(f"copy{number}") for number in range(4))]
    store = Store(tmp_path / "cache")
    extract_tracks(probe(video), cues, store, rate=4)
    for file in tmp_path.glob("cache/recordings/*/*.safetensors"):
        flip(file, -1)
    for cue in cues:
        cue.seen.clear()
    again = extract_tracks(probe(video), cues, store, rate=4)
    assert caplog.text.count("is damaged") == 6  # five cues and the previews
    assert [len(cue.seen) for cue in cues] == [40] * 5
    assert len(again.tracks) == 5


def named(name):
    """Return a cue of its own that does the same."""
    return type(name, (Brightness,), {"name": name})()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("replace", [os.mkfifo, os.mkdir])
def test_a_pipe_or_folder_in_the_place_of_a_file_is_moved_away(video, tmp_path, replace, caplog):
    extract(video, tmp_path, Brightness())
    (file,) = tmp_path.glob("cache/recordings/*/brightness-*.safetensors")
    (facts,) = tmp_path.glob("cache/recordings/*/facts-*.json")
    for path in (file, facts):
        path.unlink()
        replace(path)
    again = extract(video, tmp_path, Brightness())
    assert caplog.text.count("is damaged") == 2
    assert len(again.times) == 40
    assert file.is_file()
    assert facts.is_file()


def test_a_file_that_cannot_be_opened_just_now_is_not_removed(video, tmp_path, monkeypatch):
    extract(video, tmp_path, Brightness())
    (file,) = tmp_path.glob("cache/recordings/*/brightness-*.safetensors")

    def too_many(path):
        raise OSError(errno.EMFILE, "Too many open files", str(path))

    monkeypatch.setattr("stepreel.system.checked_arrays.open_regular", too_many)
    with pytest.raises(StoreError, match="Too many open files"):
        extract(video, tmp_path, Brightness())
    assert file.exists()


def test_a_damaged_shard_is_extracted_again(video, tmp_path, caplog):
    whole = extract(video, tmp_path / "a", Brightness(), shard_seconds=4)
    with pytest.raises(KeyboardInterrupt):
        extract(video, tmp_path / "b", Interrupted(), shard_seconds=4)
    (shard,) = tmp_path.glob("b/cache/recordings/*/brightness-*.parts-16/0000.safetensors")
    flip(shard, -1)
    rest = extract(video, tmp_path / "b", Brightness(), shard_seconds=4)
    assert caplog.text.count("is damaged") == 1
    np.testing.assert_array_equal(
        whole.tracks["brightness"].features, rest.tracks["brightness"].features
    )


def test_pictures_damaged_while_they_are_in_use_are_reported(video, tmp_path):
    extraction = extract(video, tmp_path, Brightness())
    (file,) = tmp_path.glob("cache/recordings/*/previews-*.safetensors")
    flip(file, -1)
    with pytest.raises(StoreError, match="run again"):
        extraction.previews.jpeg(39)


class Meddling(Brightness):
    """A cue during whose work something happens to the file."""

    def __init__(self, meddle) -> None:
        super().__init__()
        self.meddle = meddle

    def extract(self, moments):
        if moments[0].index == 0:
            self.meddle()
        return super().extract(moments)


def replaced(video):
    """Put another video of the same size and modification time in the place of this one."""
    status = video.stat()
    other = write_video(video.with_name("other.mp4"), steady(100), lambda i: gray(200 - i // 2))
    assert other.stat().st_size < status.st_size
    return status, other.read_bytes().ljust(status.st_size, b"\0")


def rename_over(video):
    status, content = replaced(video)
    new = video.with_name("new.mp4")
    new.write_bytes(content)
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
    new.replace(video)


def rewrite(video):
    status, content = replaced(video)
    with video.open("r+b") as file:
        file.write(content)
    os.utime(video, ns=(status.st_atime_ns, status.st_mtime_ns))


def grow(video):
    with video.open("ab") as file:
        file.write(bytes(100))


@pytest.mark.parametrize(
    ("meddle", "words"),
    [
        (rename_over, "was changed while it was being read"),
        (rewrite, "was changed while it was being read"),
        (grow, "was changed while it was being read"),
        (lambda video: video.unlink(), "was removed while it was being read"),
    ],
)
@pytest.mark.parametrize("when", ["before reading", "while reading"])
def test_a_recording_that_changes_is_refused_and_nothing_of_it_is_kept(
    video, tmp_path, meddle, words, when
):
    store, probed = Store(tmp_path / "cache"), probe(video)
    cue = Meddling(lambda: meddle(video)) if when == "while reading" else Brightness()
    if when == "before reading":
        meddle(video)
    with pytest.raises(RecordingError, match=words):
        extract_tracks(probed, [cue], store, rate=4, shard_seconds=4)
    kept = [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]
    assert kept == []


def test_a_recording_that_is_only_touched_is_used(video, tmp_path):
    cue = Meddling(video.touch)
    assert len(extract(video, tmp_path, cue).times) == 40


def test_other_recordings_go_on_when_one_changes(video, tmp_path, monkeypatch):
    other = write_video(tmp_path / "w.mp4", steady(90), lambda i: gray(20 + i // 2))
    cue = Meddling(lambda: video.exists() and video.unlink())
    monkeypatch.setattr("stepreel.features.sources.make_cues", lambda names: [cue])
    loaded = extract_recordings([video, other], ExtractSettings(), Store(tmp_path / "cache"))
    assert list(loaded.recordings) == [1]
    assert "v.mp4: was removed while it was being read" in loaded.failures[0]
