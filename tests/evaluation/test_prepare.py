from __future__ import annotations

import numpy as np
import pytest

from stepreel.errors import DatasetError
from stepreel.evaluation.datasets.base import LabelledRecording, LabelledTask
from stepreel.evaluation.prepare import prepare_task, thinned
from stepreel.evaluation.truth.annotation import Annotation, Problems, TrueStep
from stepreel.features.feature_files import read_features


def prepare(task, *, lenient=False, rate=None):
    problems = Problems(lenient=lenient)
    return prepare_task(task, problems, labels_rate=2, rate=rate), problems


def recording(path):
    truth = Annotation(path.stem, (TrueStep(5, 10, 1), TrueStep(10, 15, 2)))
    return LabelledRecording(path.stem, truth, features=lambda: read_features(path))


def write(path, start=5.0, n=100, **more):
    hands = np.arange(2.0 * n).reshape(n, 2)
    np.savez(path, times=start + np.arange(n) / 10, hands=hands, **more)
    return path


def test_truth_and_features_meet_on_the_recording_s_own_clock(tmp_path):
    task = LabelledTask("task", (recording(write(tmp_path / "a.npz", start=5.0)),))
    (truth,) = prepare(task)[0].truth
    assert truth.tolist() == [1] * 50 + [2] * 50


def test_labels_alone_are_scored_at_the_dataset_s_rate_or_the_one_asked_for():
    alone = LabelledRecording("a", Annotation("a", (TrueStep(1, 2, 3),), duration_seconds=3.0))
    own, _ = prepare(LabelledTask("task", (alone,)))
    assert own.truth[0].tolist() == [0, 0, 3, 3, 0, 0]
    assert own.recordings is None
    assert "no videos and no features" in own.blind_because
    assert len(prepare(LabelledTask("task", (alone,)), rate=10)[0].truth[0]) == 30


@pytest.mark.parametrize(
    ("seconds", "words"), [(None, "length is unknown"), (1e12, "cannot be right")]
)
def test_labels_alone_need_a_length_that_can_be(seconds, words):
    alone = LabelledRecording("a", Annotation("a", (), duration_seconds=seconds))
    with pytest.raises(DatasetError, match=words):
        prepare(LabelledTask("task", (alone,)))


def test_a_recording_without_features_among_others_is_reported(tmp_path):
    other = LabelledRecording("b", Annotation("b", ()))
    task = LabelledTask("task", (recording(write(tmp_path / "a.npz")), other))
    with pytest.raises(DatasetError, match="b: has labels, but neither"):
        prepare(task)
    own, problems = prepare(task, lenient=True)
    assert own.names == ["a"]
    assert len(problems.skipped) == 1


def test_rows_that_the_file_itself_marks_as_invalid_are_no_problem(tmp_path):
    valid = np.ones(100, bool)
    valid[3] = False
    path = write(tmp_path / "a.npz", hands_valid=valid)
    own, problems = prepare(LabelledTask("task", (recording(path),)))
    assert not own.recordings[0].tracks["hands"].valid[3]
    assert problems.skipped == []


def test_thinning_takes_the_nearest_moments(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, times=np.arange(60) / 30, hands=np.arange(60.0)[:, None])
    own = thinned(read_features(path), 5)
    assert own.tracks["hands"].features[:, 0].tolist() == [0, 6, 12, 18, 24, 30, 36, 42, 48, 54]
    uneven = tmp_path / "b.npz"
    np.savez(uneven, times=[0, 0.4, 0.9, 1.1, 2.2], hands=np.arange(5.0)[:, None])
    assert thinned(read_features(uneven), 1).tracks["hands"].features[:, 0].tolist() == [0, 2, 4]
    assert own.fingerprint != read_features(path).fingerprint


def test_labels_past_the_end_of_what_was_read_are_told_with_file_and_line(tmp_path):
    path = write(tmp_path / "a.npz", start=0.0)  # ten seconds
    steps = (TrueStep(1, 2, 1), TrueStep(30, 100, 3, "a.csv, line 7"))
    one = LabelledRecording("a", Annotation("a", steps), features=lambda: read_features(path))
    task = LabelledTask("task", (one,))
    with pytest.raises(DatasetError, match=r"a\.csv, line 7: 30 to 100 s .* past the end of a"):
        prepare(task)
    assert len(prepare(task, lenient=True)[1].skipped) == 1


def test_labels_of_another_length_than_what_was_read_are_told(tmp_path):
    path = write(tmp_path / "a.npz", start=0.0)
    truth = Annotation("a", (TrueStep(1, 2, 1),), duration_seconds=50.0)
    one = LabelledRecording("a", truth, features=lambda: read_features(path))
    with pytest.raises(DatasetError, match=r"recording of 50\.0 s, but .* 10\.0 s; .* fps"):
        prepare(LabelledTask("task", (one,)))
    good = recording(write(tmp_path / "b.npz", start=5.0))
    own, problems = prepare(LabelledTask("task", (one, good)), lenient=True)
    assert own.names == ["b"]
    assert len(problems.skipped) == 1


def test_a_thinned_recording_is_not_taken_for_a_longer_one(tmp_path):
    path = write(tmp_path / "a.npz", start=0.0)
    truth = Annotation("a", (TrueStep(0, 8, 1),), duration_seconds=10.0)
    one = LabelledRecording("a", truth, features=lambda: read_features(path))
    (labels,) = prepare(LabelledTask("task", (one,)), rate=1 / 3)[0].truth
    assert labels.tolist() == [1, 1, 1, 0]
