from __future__ import annotations

import numpy as np
import pytest
from videos import gray, steady, write_video

from stepreel.config import Settings
from stepreel.features.video_recording import VideoRecording
from stepreel.steps.key_steps import pick_key_steps
from stepreel.steps.samplers.sample import sample_steps
from stepreel.storyboard.assemble import assemble_storyboard
from stepreel.types import Clustering, FeatureTrack
from stepreel.video.decode import probe


def board_of(tmp_path, labels, excluded, *, times=None, **choice):
    """Make the storyboard of a clustering at four moments a second."""
    labels = np.array(labels)
    times = np.arange(len(labels)) / 4 if times is None else times
    flat = np.zeros(len(labels), np.float32)
    clustering = Clustering(times, labels, flat, flat + 1, np.array(excluded), n_clusters=3)
    settings = Settings.model_validate({"key_steps": {"background_ratio": 0.0, **choice}})
    picked = pick_key_steps(clustering, settings.key_steps, moment_seconds=0.25)
    spread = np.random.default_rng(0).random((len(labels), 3), dtype=np.float32)
    track = FeatureTrack("v", "a", clustering.times, spread, np.ones(len(labels), bool))
    recording = VideoRecording(
        video=probe(write_video(tmp_path / "v.mp4", steady(30), lambda i: gray(i))),
        tracks={"a": track},
        previews=None,
        moment_seconds=0.25,
        duration_seconds=float(times[-1]) + 0.25,
        notes=(),
        track_settings={},
    )
    key_steps = sample_steps(picked, recording, settings.key_steps, lambda: track.features)
    return assemble_storyboard(recording, clustering, key_steps, settings)


def test_a_long_pause_is_background_and_a_short_one_is_left_out(tmp_path):
    labels = [0] * 20 + [1] * 20 + [2] * 20
    excluded = np.zeros(60, bool)
    excluded[16:24] = True  # 2 s
    excluded[38:42] = True  # 1 s
    board = board_of(tmp_path, labels, excluded)
    assert [(s.start, s.end, s.kind, s.cluster) for s in board.timeline] == [
        (0.0, 4.0, "step", 0),
        (4.0, 6.0, "background", None),
        (6.0, 9.5, "step", 1),
        (9.5, 10.5, "left-out", None),
        (10.5, 15.0, "step", 2),
    ]
    assert [(s.start, s.end) for s in board.background] == [(4.0, 6.0)]
    assert board.uncertain == []


def test_a_recording_with_only_pauses_has_an_empty_storyboard_with_a_note(tmp_path):
    board = board_of(tmp_path, [0] * 12, [True] * 12)
    assert board.steps == []
    assert [span.kind for span in board.timeline] == ["background"]
    assert board.notes == [
        "Found 0 of 3 kinds of steps: kinds A, B and C do not occur in this recording."
    ]


def test_a_limit_on_the_number_of_steps_is_named_and_hides_no_time(tmp_path):
    labels = np.repeat([0, 1, 2], 20)
    board = board_of(tmp_path, labels, np.zeros(60, bool), top=1)
    assert len(board.steps) == 1
    assert [span.kind for span in board.timeline].count("left-out") == 2
    assert board.background == []  # there are steps, they are only not shown
    assert "at most 1 were asked for (--top)" in board.notes[0]


@pytest.mark.parametrize(
    ("limits", "shown", "note"),
    [
        (
            {"budget_seconds": 12.0},
            2,
            "2 of the 3 steps found are shown, the clearest ones, because together they may last "
            "12 s (--budget).",
        ),
        (
            {"budget_seconds": 12.0, "top": 1, "sample": "nearest"},
            1,
            "1 of the 3 steps found are shown, those nearest to the centre of their kind, because "
            "at most 1 were asked for (--top), and together they may last 12 s (--budget).",
        ),
        (
            {"budget_seconds": 12.0, "sample": "ils"},
            2,
            "2 of the 3 steps found are shown, those that represent the others best, because "
            "together they may last 12 s (--budget).",
        ),
        (
            {"budget_seconds": 4.5},
            1,
            "1 of the 3 steps found are shown, although longer than the 4.5 s asked for "
            "(--budget): the shortest one lasts 5.0 s.",
        ),
        (
            {"budget_seconds": 15.0},
            3,
            "The recording lasts 15.0 s, so that a limit of 15 s (--budget) hides nothing.",
        ),
    ],
)
def test_a_limit_on_time_says_what_it_hides(tmp_path, limits, shown, note):
    board = board_of(tmp_path, np.repeat([0, 1, 2], 20), np.zeros(60, bool), **limits)
    assert len(board.steps) == shown
    assert note in board.notes
    assert not [other for other in board.notes if "--budget" in other and other != note]


def test_a_step_that_is_shown_although_it_is_too_short_has_a_note(tmp_path):
    labels = np.repeat([0, 1], [8, 12])  # 2 s and 3 s
    note = "No step lasts 4 s (--shortest); the longest one is shown, although it lasts 3.0 s."
    board = board_of(tmp_path, labels, np.zeros(20, bool), min_step_seconds=4.0)
    assert [(step.start, step.end) for step in board.steps] == [(2.0, 5.0)]
    assert note in board.notes
    board = board_of(tmp_path, labels, np.zeros(20, bool), min_step_seconds=3.0)
    assert [(step.start, step.end) for step in board.steps] == [(2.0, 5.0)]
    assert not [other for other in board.notes if "--shortest" in other]


def test_the_note_about_missing_kinds_says_why(tmp_path):
    labels = [0] * 20 + [1] * 2 + [0] * 20  # kind B lasts half a second, kind C never occurs
    board = board_of(tmp_path, labels, np.zeros(42, bool), n_clusters=3)
    assert board.notes[:1] == [
        "Found 1 of 3 kinds of steps: kind B never lasts 1 s without "
        "interruption; kind C does not occur in this recording."
    ]


def test_a_gap_in_a_recording_is_background_and_part_of_no_step(tmp_path):
    times = np.concatenate([np.arange(12) / 4, 300 + np.arange(12) / 4])
    board = board_of(tmp_path, [0] * 24, np.zeros(24, bool), times=times)
    assert [(s.start, s.end, s.kind) for s in board.timeline] == [
        (0.0, 3.0, "step"),
        (3.0, 300.0, "background"),
        (300.0, 303.0, "step"),
    ]
    assert [(s.start, s.end) for s in board.background] == [(3.0, 300.0)]
    assert [(s.start, s.end) for s in board.steps] == [(0.0, 3.0), (300.0, 303.0)]
