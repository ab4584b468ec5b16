"""The public Python interface, as a cookbook."""

from __future__ import annotations

import subprocess
import sys

import pytest
from videos import busy_task, steady, write_video

import stepreel
from stepreel import RecordingError, find_key_steps

FAST = {"train__epochs": 20, "train__n_chunks": 32}


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    return write_video(folder / "shelf.mp4", steady(270), busy_task())


def test_one_call_from_a_file_to_its_key_steps(video):
    board = find_key_steps(video, clusters=3, **FAST)
    assert board.steps[0].time >= 0
    assert [step.index for step in board.steps] == list(range(1, len(board.steps) + 1))
    assert all(step.start <= step.time <= step.end for step in board.steps)
    assert 2 <= len(board.steps) <= 5


def test_with_an_output_folder_the_storyboard_is_written_too(video, tmp_path):
    board = find_key_steps(video, tmp_path / "out", clusters=3, **FAST)
    folder = tmp_path / "out" / "shelf"
    assert stepreel.read_storyboard(folder / "storyboard.json") == board.storyboard
    assert (folder / board.steps[0].picture).read_bytes()[:2] == b"\xff\xd8"
    for name in ["storyboard.html", "steps.csv", "steps.md", "chapters.vtt", "chapters.ffmeta"]:
        assert (folder / name).stat().st_size > 50


def test_the_timeline_covers_the_recording_without_gap_or_overlap(video):
    board = find_key_steps(video, clusters=3, **FAST).storyboard
    assert board.timeline[0].start == 0
    assert board.timeline[-1].end == board.recording.duration_seconds
    for earlier, later in zip(board.timeline, board.timeline[1:], strict=False):
        assert earlier.end == later.start


def test_the_long_form_shows_every_room(video, tmp_path):
    from stepreel.config import load_settings
    from stepreel.cues import make_cues
    from stepreel.features.extraction import extract_tracks
    from stepreel.learn.embeddings import learn_embeddings
    from stepreel.steps.clustering import cluster_recordings
    from stepreel.steps.key_steps import find_steps
    from stepreel.system.store import Store
    from stepreel.video.decode import probe

    settings = load_settings("quick", {"train.epochs": 5, "key_steps.n_clusters": 3})
    store = Store(tmp_path)
    extraction = extract_tracks(probe(video), make_cues(["motion"]), store, rate=4)
    (embedding,) = learn_embeddings([extraction], settings, store).tracks
    (clustering,) = cluster_recordings([embedding], 3, seed=0)
    found = find_steps(clustering, settings.key_steps, moment_seconds=0.25)
    assert len(found.segments) >= 1


def test_what_was_learned_finds_the_same_steps_in_a_later_take(video, tmp_path):
    board = find_key_steps(video, tmp_path / "out", clusters=3, **FAST)
    later = find_key_steps(video, model=tmp_path / "out")
    assert [(s.start, s.cluster) for s in later.steps] == [
        (s.start, s.cluster) for s in board.steps
    ]
    with pytest.raises(ValueError, match="knows 3 kinds of steps, not 4"):
        find_key_steps(video, model=tmp_path / "out", clusters=4)
    with pytest.raises(stepreel.ModelError, match="no model here"):
        find_key_steps(video, model=tmp_path / "nowhere")


def test_features_of_your_own_become_embeddings_and_clusters(tmp_path):
    import numpy as np

    gaze = np.repeat(np.eye(4), 15, axis=0)  # four steps of fifteen moments
    result = find_key_steps(
        {"gaze": (np.arange(60) / 4, gaze)}, clusters=4, train__epochs=20, train__n_chunks=32
    )
    assert result.embedding.shape == (60, 128)
    assert len(set(result.clustering.labels)) == 4


def test_labels_of_your_own_are_scored_under_a_named_protocol():
    import numpy as np

    from stepreel.evaluation.methods.baselines import equal_split
    from stepreel.evaluation.metrics.localization import score_localization

    truth = np.repeat([0, 4, 0, 9], [10, 30, 10, 50])  # 0 = background, other ids = steps
    found = np.repeat([-1, 1, 0], [10, 35, 55])  # clusters; -1 = no step here
    score = score_localization([truth], [found], n_clusters=2, protocol="strict")
    null = score_localization([truth], [equal_split(100, 2)], n_clusters=2, protocol="strict")
    assert round(score.f1) == 94
    assert score.f1 > null.f1


def test_methods_are_compared_on_labelled_recordings(tmp_path):
    import numpy as np

    from stepreel.evaluation.run import evaluate

    labels = np.repeat([0, 1, 2, 1], 12)
    np.savez(tmp_path / "take.npz", times=np.arange(48) / 4, gaze=np.eye(3)[labels], labels=labels)
    results = evaluate("npz", tmp_path, clusters=3, seeds=1, train__epochs=5, train__n_chunks=16)
    strict = results.protocols["strict"]
    assert strict["raw-kmeans"].f1.mean == 100
    assert strict["equal-split"].f1.mean < 100


def test_settings_can_be_changed_by_name(video):
    board = find_key_steps(video, clusters=2, top=1, seed=3, **FAST)
    assert len(board.steps) == 1
    assert board.storyboard.seed == 3
    assert board.storyboard.settings["train"]["epochs"] == 20


def test_a_wrong_setting_is_a_value_error_that_lists_the_known_ones(video):
    with pytest.raises(ValueError, match=r"known here: .*epochs"):
        find_key_steps(video, train__epoch=3)


def test_an_unreadable_recording_is_a_recording_error(tmp_path):
    with pytest.raises(RecordingError, match=r"nowhere.mp4: does not exist"):
        find_key_steps(tmp_path / "nowhere.mp4")


def test_the_exported_names_exist():
    for name in stepreel.__all__:
        assert getattr(stepreel, name) is not None


def test_importing_the_package_loads_nothing_heavy():
    heavy = "torch cv2 av onnxruntime sklearn scipy pydantic numpy"
    code = f"import sys, stepreel; print([m for m in '{heavy}'.split() if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
