from __future__ import annotations

import av
import numpy as np
import pytest
from videos import frame_number, gray, gray_steps, steady, write_audio, write_video

from stepreel.errors import RecordingError
from stepreel.video.decode import (
    Decoding,
    Shrinker,
    fingerprint_of,
    probe,
    stamps_are_scrambled,
)
from stepreel.video.moments import walk_moments


def shown_frames(path, rate):
    return [frame_number(m.rgb) for m in walk_moments(probe(path), rate=rate)]


def test_moments_are_on_a_regular_time_grid(tmp_path):
    path = write_video(tmp_path / "a.mp4", steady(30, fps=10), gray_steps)
    moments = list(walk_moments(probe(path), rate=4))
    assert [m.time for m in moments] == [i / 4 for i in range(12)]
    # 0.25 s falls between frames 2 (0.2 s) and 3 (0.3 s): frame 2 is still on screen.
    assert [frame_number(m.rgb) for m in moments[:5]] == [0, 2, 5, 7, 10]


def test_a_variable_frame_rate_is_sampled_by_time_not_by_frame_number(tmp_path):
    times = [0.0, 0.1, 0.2, 1.0, 1.1, 2.6, 2.7]
    path = write_video(tmp_path / "vfr.mkv", times, gray_steps)
    # At 0, .5, 1, 1.5, 2, 2.5 seconds.
    assert shown_frames(path, rate=2)[:6] == [0, 2, 3, 4, 4, 4]


def test_flow_pairs_are_the_displayed_frame_and_the_next_source_frame(tmp_path):
    path = write_video(tmp_path / "vfr.mkv", [0.0, 0.1, 0.7, 0.8], gray_steps)
    moments = list(walk_moments(probe(path), rate=2))
    assert frame_number(moments[1].gray) == 1
    assert frame_number(moments[1].next_gray) == 2
    assert moments[1].interval_seconds == pytest.approx(0.6, abs=1e-3)


def test_the_last_frame_is_paired_with_the_one_before_it(tmp_path):
    path = write_video(tmp_path / "a.mkv", [0.0, 0.5, 1.0], gray_steps)
    last = list(walk_moments(probe(path), rate=2))[-1]
    assert frame_number(last.rgb) == 2
    assert (frame_number(last.gray), frame_number(last.next_gray)) == (1, 2)


@pytest.mark.parametrize("first_index", [1, 5, 9, 20, 30])
def test_starting_later_gives_the_same_moments(tmp_path, first_index):
    path = write_video(tmp_path / "a.mp4", steady(40, fps=5), gray_steps, gop=7)
    recording = probe(path)
    everything = list(walk_moments(recording, rate=4))
    rest = list(walk_moments(recording, rate=4, first_index=first_index))
    assert [m.index for m in rest] == [m.index for m in everything[first_index:]]
    for early, late in zip(everything[first_index:], rest, strict=True):
        np.testing.assert_array_equal(early.rgb, late.rgb)
        np.testing.assert_array_equal(early.next_gray, late.next_gray)


def test_time_starts_at_the_first_displayed_frame_and_the_offset_is_kept(tmp_path):
    path = write_video(tmp_path / "late.mkv", [2.0 + i / 10 for i in range(10)], gray_steps)
    recording = probe(path)
    assert recording.first_frame_seconds == pytest.approx(2.0)
    assert recording.player_offset_seconds == pytest.approx(0.0)
    assert shown_frames(path, rate=4)[:3] == [0, 2, 5]


def test_audio_that_starts_before_the_video_shifts_the_player_clock(tmp_path):
    times = [0.5 + i / 10 for i in range(20)]
    recording = probe(write_video(tmp_path / "av.mkv", times, gray_steps, audio_start=0.0))
    assert recording.player_offset_seconds == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_rotation_metadata_is_applied(tmp_path, rotation):
    def corner_marked(_: int) -> np.ndarray:
        picture = gray(30, width=96, height=48)
        picture[:16, :16] = 240
        return picture

    path = write_video(tmp_path / "r.mp4", steady(5), corner_marked, rotation=rotation)
    recording = probe(path)
    moment = next(walk_moments(recording, rate=4))
    expected = (96, 48) if rotation == 180 else (48, 96)
    assert (recording.width, recording.height) == expected
    assert moment.rgb.shape[1] / moment.rgb.shape[0] == expected[0] / expected[1]
    # Rotation is counter-clockwise: the top left corner moves to the bottom left, ...
    height, width, _ = moment.rgb.shape
    corner = {90: (-1, 0), 180: (-1, -1), 270: (0, -1)}[rotation]
    assert moment.rgb[corner].mean() > 200
    assert moment.rgb[height // 2, width // 2].mean() < 60


def test_odd_sizes_work(tmp_path):
    def odd(_: int) -> np.ndarray:
        return gray(90, width=321, height=181)

    path = write_video(tmp_path / "odd.avi", steady(5), odd, codec="ffv1")
    recording = probe(path)
    assert (recording.width, recording.height) == (321, 181)
    assert next(walk_moments(recording, rate=4)).rgb.shape == (270, 480, 3)


def test_a_frame_of_another_size_mid_stream_is_resized(tmp_path):
    first = write_video(tmp_path / "a.h264", steady(30), lambda i: gray(60))
    second = write_video(tmp_path / "b.h264", steady(30), lambda i: gray(200, width=128, height=64))
    both = tmp_path / "both.h264"
    both.write_bytes(first.read_bytes() + second.read_bytes())
    moments = list(walk_moments(probe(both), rate=4))
    assert {m.rgb.shape for m in moments} == {(360, 480, 3)}
    assert moments[0].rgb.mean() < 80
    assert moments[-1].rgb.mean() > 180


def test_audio_longer_than_the_video_does_not_count_as_damage(tmp_path):
    path = write_video(tmp_path / "av.mkv", steady(20, fps=10), gray_steps, audio_start=0.0)
    longer = write_video(
        tmp_path / "longer.mkv", steady(20, fps=10), gray_steps, audio_start=0.0, audio_end=9.0
    )
    for recording in (probe(path), probe(longer)):
        assert recording.declared_seconds in (0.0, pytest.approx(2.0, abs=0.2))


def test_the_duration_of_the_last_frame_is_capped(tmp_path):
    path = write_video(tmp_path / "stuck.mp4", steady(10, fps=10), gray_steps, last_seconds=40_000)
    assert len(list(walk_moments(probe(path), rate=1))) <= 12


def test_a_single_frame_gives_one_moment_without_a_flow_pair(tmp_path):
    path = write_video(tmp_path / "one.mkv", [0.0], gray_steps)
    (moment,) = walk_moments(probe(path), rate=4)
    assert moment.next_gray is None


def test_the_same_content_has_the_same_fingerprint_under_any_name(tmp_path):
    a, b = tmp_path / "a.mp4", tmp_path / "b.mp4"
    a.write_bytes(b"x" * 5000)
    b.write_bytes(b"x" * 5000)
    assert fingerprint_of(a) == fingerprint_of(b)
    b.write_bytes(b"x" * 2500 + b"y" + b"x" * 2499)
    assert fingerprint_of(a) != fingerprint_of(b)


def test_a_truncated_file_is_decoded_as_far_as_possible(tmp_path):
    whole = write_video(tmp_path / "a.mkv", steady(120), lambda i: gray(i % 200))
    cut = tmp_path / "cut.mkv"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    decoding = Decoding()
    moments = list(walk_moments(probe(cut), rate=4, decoding=decoding))
    assert 0 < len(moments) < 16
    assert decoding.end_seconds < 3.9


def test_a_missing_index_falls_back_to_reading_from_the_start(tmp_path):
    path = write_video(tmp_path / "raw.h264", steady(60), lambda i: gray(20 + 3 * i))
    recording = probe(path)
    everything = list(walk_moments(recording, rate=4))
    rest = list(walk_moments(recording, rate=4, first_index=4))
    assert [m.index for m in rest] == [m.index for m in everything[4:]]
    np.testing.assert_array_equal(everything[4].rgb, rest[0].rgb)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p.write_bytes(b""), "empty"),
        (lambda p: p.write_text("just words\n" * 200), "not a video"),
        (lambda p: p.mkdir(), "folder"),
        (lambda p: write_audio(p), "no video stream"),
        (lambda p: write_audio(p.with_suffix(".wav")).rename(p), "no video stream"),
        (lambda p: None, "does not exist"),
    ],
)
def test_a_file_that_is_not_a_video_is_rejected_with_its_name_and_the_reason(
    tmp_path, make, message
):
    path = tmp_path / "bad.mp4"
    make(path)
    with pytest.raises(RecordingError, match=message) as caught:
        probe(path)
    assert "bad.mp4" in str(caught.value)


def test_a_playlist_cannot_open_other_files(tmp_path):
    write_video(tmp_path / "secret.ts", steady(30), gray_steps)
    playlist = tmp_path / "list.mp4"
    playlist.write_text(
        "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nsecret.ts\n#EXT-X-ENDLIST\n"
    )
    with pytest.raises(RecordingError, match="not a video"):
        probe(playlist)


def test_names_that_look_like_protocols_or_options_are_plain_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ["http:x.mkv", "-i.mkv", "a b'\"<script>é.mkv"]:
        write_video(tmp_path / "plain.mkv", steady(5), gray_steps)
        (tmp_path / "plain.mkv").rename(tmp_path / name)
        assert probe(name).width == 64


@pytest.mark.parametrize(
    ("shown", "decoded", "scrambled"),
    [
        ([1, 3, 2, 5, 4], [1, 2, 3, 4, 5], True),  # packed B-frames in an AVI file
        ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4], False),
        ([0, 2, 1, 3, 4], [0, 1, 1, 2, 3], False),  # neither increases: keep the pts
        ([0, 2, 1, 3, 4], [None, None, None, 2, 3], False),
    ],
)
def test_decoding_timestamps_are_used_where_only_they_increase(shown, decoded, scrambled):
    assert stamps_are_scrambled(list(zip(shown, decoded, strict=True))) is scrambled


def test_a_shrinker_gives_the_same_pictures_as_a_new_one_for_every_frame(tmp_path):
    """Also after frames of another size, which set it up again."""
    noise = np.random.default_rng(0).integers(0, 255, (4, 96, 128, 3), dtype=np.uint8)
    path = write_video(tmp_path / "a.mp4", steady(4), lambda i: noise[i])
    with av.open(str(path)) as container:
        frames = list(container.decode(video=0))
    frames.insert(2, frames[0].reformat(64, 64))
    kept = Shrinker((48, 36), "rgb24")
    for frame in frames:
        alone = Shrinker((48, 36), "rgb24").shrink(frame)
        np.testing.assert_array_equal(kept.shrink(frame), alone)
