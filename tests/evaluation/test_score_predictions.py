"""Predictions given as files: what counts as the same recording, moment and cluster."""

from __future__ import annotations

import numpy as np
import pytest
from boards import make_board
from cli.commands import stepreel

from stepreel.errors import DatasetError
from stepreel.evaluation.predictions import read_predictions
from stepreel.evaluation.score_predictions import score_loaded
from stepreel.evaluation.truth.annotation import Problems


@pytest.fixture
def folders(tmp_path):
    (tmp_path / "truth").mkdir()
    (tmp_path / "found").mkdir()
    return tmp_path / "truth", tmp_path / "found"


def scored(folders, *, fps=None, k=None, rate=None, lenient=False):
    problems = Problems(lenient=lenient)
    found = read_predictions(folders[1], problems, fps=fps)
    evaluation = score_loaded(
        folders[0], found, problems, fps=fps, rate=rate, n_clusters=k, seeds=(0,)
    )
    return evaluation.results.protocols["strict"], evaluation.comparisons[0], problems


def test_a_prediction_that_stops_early_found_nothing_after_that(folders):
    steps = "".join(f"{25 * n},{25 * n + 25},{n + 1} step\n" for n in range(4))
    (folders[0] / "a.csv").write_text(steps)
    (folders[1] / "a.csv").write_text("0,20,1 a\n")
    strict, comparison, _ = scored(folders, k=4)
    assert len(comparison.prepared.times[0]) == 1000
    # Lines of this format label every moment they touch: 20.0 s, too.
    expected = 100 * 2 * 201 / (201 + 250) / 4
    assert strict["prediction"].f1.mean == pytest.approx(expected, abs=0.01)


EAF = """<ANNOTATION_DOCUMENT><TIME_ORDER>
<TIME_SLOT TIME_SLOT_ID="a" TIME_VALUE="430"/><TIME_SLOT TIME_SLOT_ID="b" TIME_VALUE="2930"/>
</TIME_ORDER><TIER TIER_ID="steps"><ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="x"
TIME_SLOT_REF1="a" TIME_SLOT_REF2="b"><ANNOTATION_VALUE>cut</ANNOTATION_VALUE>
</ALIGNABLE_ANNOTATION></ANNOTATION></TIER></ANNOTATION_DOCUMENT>"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "1,0,0.43\n2,0.43,0.93\n"),
        ("a.csv", "0.52,3.31,1 cut\n4.1,7.77,2 stir\n"),
        ("a.txt", "1 30 G1\n31 60 G2\n61 95 G3\n"),
        ("a.txt", "SIL\ncut\ncut\nsew\nSIL\n"),
        ("a.eaf", EAF),
    ],
)
@pytest.mark.parametrize("rate", [None, 4, 30])
def test_the_truth_itself_is_a_perfect_prediction(folders, name, text, rate):
    for folder in folders:
        (folder / name).write_text(text)
    problems = Problems()
    found = read_predictions(folders[1], problems, fps=30)
    results = score_loaded(folders[0], found, problems, fps=30, rate=rate, seeds=(0,)).results
    for methods in results.protocols.values():
        own = methods["prediction"].figures()
        figures = {name: own[name].mean for name in ("f1", "iou", "mof", "edit")}
        assert figures == dict.fromkeys(figures, 100)


@pytest.mark.parametrize("rate", [10, 15, 30])
@pytest.mark.parametrize("n_more", [-3, -2, -1, 1, 2, 3])
def test_one_moment_too_many_or_too_few_is_an_error_at_any_rate(folders, rate, n_more):
    labels = np.repeat([1, 2, 3], 40)
    n = len(labels) + n_more
    np.savez(folders[0] / "a.npz", times=np.arange(len(labels)) / rate, labels=labels)
    np.savez(folders[1] / "a.npz", times=np.arange(n) / rate, cluster=np.resize(labels, n))
    with pytest.raises(DatasetError, match="same moments"):
        scored(folders)


def test_a_coarser_prediction_is_scored_at_its_own_moments(folders):
    labels = np.repeat([1, 2, 3], 40)
    np.savez(folders[0] / "a.npz", times=np.arange(120) / 30, labels=labels)
    coarser = labels[np.arange(16) * 15 // 2]
    np.savez(folders[1] / "a.npz", times=np.arange(16) / 4, cluster=coarser)
    strict, comparison, _ = scored(folders)
    assert len(comparison.prepared.times[0]) == 16
    assert set(comparison.prepared.truth[0]) == {1, 2, 3}  # no moment is made up as background
    assert strict["prediction"].f1.mean == 100


def test_a_prediction_that_begins_before_or_after_its_truth_is_an_error(folders):
    (folders[0] / "a.csv").write_text("1,0,40\n2,40,60\n3,60,100\n")
    times = np.arange(500, 1000) / 10
    np.savez(folders[1] / "a.npz", times=times, cluster=np.zeros(500, int))
    with pytest.raises(DatasetError, match="same moments"):
        scored(folders)
    (folders[0] / "a.csv").unlink()
    np.savez(folders[0] / "a.npz", times=10 + np.arange(60) / 30, labels=np.ones(60, int))
    np.savez(folders[1] / "a.npz", times=np.arange(360) / 30, cluster=np.zeros(360, int))
    with pytest.raises(DatasetError, match="same moments"):
        scored(folders)


@pytest.mark.parametrize("times", [[0.0], [-3.0, -2.0, 0.5, 7.0], 1.7e9 + np.arange(8) / 30])
def test_moments_may_lie_anywhere_if_truth_and_prediction_agree(folders, times):
    labels = np.resize([1, 2], len(times))
    np.savez(folders[0] / "a.npz", times=times, labels=labels.astype(np.uint16))
    np.savez(folders[1] / "a.npz", times=times, cluster=labels.astype(float))
    assert scored(folders)[0]["prediction"].f1.mean == 100


def test_reversed_and_overlapping_spans_of_a_prediction_are_told(folders):
    (folders[0] / "a.csv").write_text("0,40,1 cut\n40,60,2 sew\n")
    for text in ("20,0,1 cut\n", "0,40,1 cut\n20,60,2 sew\n"):
        (folders[1] / "a.csv").write_text(text)
        with pytest.raises(DatasetError, match=r"a\.csv, line .*(ends before|overlaps)"):
            scored(folders)


@pytest.mark.parametrize("n", [5, 12])
def test_labels_per_frame_must_be_as_many_as_true_ones(folders, n):
    (folders[0] / "a.txt").write_text("cut\n" * 5 + "sew\n" * 5)
    (folders[1] / "a.txt").write_text("0\n" * n)
    with pytest.raises(DatasetError, match=r"past the end|same moments"):
        scored(folders, fps=1)


def test_both_are_on_the_recording_s_own_clock(folders):
    times = 3 + np.arange(20) / 2
    labels = np.repeat([1, 2], 10)
    np.savez(folders[0] / "a.npz", times=times, labels=labels)
    np.savez(folders[1] / "a.npz", times=times, cluster=2 - labels)
    assert scored(folders)[0]["prediction"].f1.mean == 100
    np.savez(folders[1] / "a.npz", times=times - 3, cluster=2 - labels)
    with pytest.raises(DatasetError, match=r"past the end|same moments"):
        scored(folders)
    (folders[0] / "a.npz").unlink()
    (folders[0] / "a.csv").write_text("3,8,1 cut\n8,13,2 sew\n")
    np.savez(folders[1] / "a.npz", times=times, cluster=2 - labels)
    assert scored(folders)[0]["prediction"].f1.mean == 100


def test_names_are_as_good_as_numbers(folders):
    (folders[0] / "a.txt").write_text("cut\ncut\nSIL\nsew\n")
    (folders[1] / "a.txt").write_text("blue\nblue\n-1\nred\n")
    strict, comparison, _ = scored(folders, fps=1)
    assert strict["prediction"].mof.mean == 100
    assert comparison.n_clusters == 2


def test_clusters_may_have_any_numbers(folders):
    np.savez(folders[0] / "a.npz", times=np.arange(6.0), labels=[1, 1, 2, 2, 3, 3])
    np.savez(folders[1] / "a.npz", times=np.arange(6.0), prediction=[70, 70, -1, -1, 10**12, 9])
    strict, comparison, _ = scored(folders)
    assert comparison.n_clusters == 3
    assert comparison.predictions["prediction"][0].together[0].tolist() == [1, 1, -1, -1, 2, 0]
    assert strict["prediction"].f1.mean == pytest.approx((100 + 0 + 200 / 3) / 3, abs=0.01)


def test_predictions_may_have_more_clusters_than_methods_look_for(folders):
    labels = np.arange(1500)
    np.savez(folders[0] / "a.npz", times=labels / 10, labels=1 + labels // 500)
    np.savez(folders[1] / "a.npz", times=labels / 10, cluster=labels)
    assert scored(folders)[1].n_clusters == 1500


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"times": [0.0, 1]}, "one of cluster"),
        ({"times": [0.0, 1], "cluster": [0.5, 1.0]}, "one whole number per time"),
        ({"times": [0.0, 1], "cluster": [0, -5]}, "contains -5; expected clusters from 0"),
        ({"times": [0.0, 1], "cluster": [0, np.nan]}, "one whole number per time"),
        ({"times": [1.0, 1], "cluster": [0, 1]}, "increasing"),
        ({"times": [1.0], "cluster": [0, 1]}, "one whole number per time"),
    ],
)
def test_files_without_labels_are_explained(folders, arrays, words):
    np.savez(folders[0] / "a.npz", times=[0.0, 1.0], labels=[1, 2])
    np.savez(folders[1] / "a.npz", **arrays)
    with pytest.raises(DatasetError, match=words):
        scored(folders)


@pytest.mark.parametrize(
    "times",
    [
        7.5 + np.arange(10) / 4,  # begins late
        np.delete(np.arange(40) / 4, slice(8, 32)),  # has a gap
        np.arange(60) / 4,  # goes on too long
    ],
)
def test_a_prediction_must_cover_the_moments_of_its_truth(folders, times):
    np.savez(folders[0] / "a.npz", times=np.arange(40) / 4, labels=np.repeat([1, 2], 20))
    np.savez(folders[1] / "a.npz", times=times, cluster=np.zeros(len(times), int))
    with pytest.raises(DatasetError, match=r"same moments|no label between"):
        scored(folders)


def test_spans_that_go_on_after_the_last_true_moment_are_told(folders):
    np.savez(folders[0] / "a.npz", times=np.arange(40) / 4, labels=np.repeat([1, 2], 20))
    (folders[1] / "a.csv").write_text("0,40,1 a\n")
    with pytest.raises(DatasetError, match="same moments"):
        scored(folders)


def test_a_damaged_or_foreign_file_is_explained(folders):
    np.savez(folders[0] / "a.npz", times=[0.0, 1.0], labels=[1, 2])
    np.save(folders[1] / "a.npy", np.zeros(3))
    (folders[1] / "a.npy").rename(folders[1] / "a.npz")
    with pytest.raises(DatasetError, match=r"a\.npz: cannot be read"):
        scored(folders)
    np.savez(folders[1] / "a.npz", times=["now", "then"], cluster=[0, 1])
    with pytest.raises(DatasetError, match="must be numbers"):
        scored(folders)


def test_an_empty_folder_of_predictions_is_explained(folders):
    np.savez(folders[0] / "a.npz", times=[0.0, 1.0], labels=[1, 2])
    with pytest.raises(DatasetError, match="contains no predictions"):
        scored(folders)


def write_boards(folder, **ids):
    """Write a storyboard of 20 s per recording: A until 10 s, then B."""
    for name, clustering_id in ids.items():
        board = make_board([(0, 5, 10, 0), (10, 15, 20, 1)], file=f"../{name}.mp4")
        board = board.model_copy(update={"clustering_id": clustering_id})
        (folder / name).mkdir()
        (folder / name / "storyboard.json").write_text(board.to_json())


@pytest.mark.parametrize(
    ("ids", "is_told"),
    [(("x", "x"), False), (("x", "y"), True), (("x", ""), True), (("", ""), False)],
)
def test_letters_that_mean_different_steps_are_told(folders, ids, is_told):
    for name in "ab":
        (folders[0] / f"{name}.csv").write_text("0,10,1 cut\n10,20,2 sew\n")
    write_boards(folders[1], a=ids[0], b=ids[1])
    _, _, problems = scored(folders)
    assert bool(problems.notes) is is_told
    if is_told:
        assert "a/storyboard.json and b/storyboard.json" in problems.notes[0]
        results = stepreel("score", "--truth", folders[0], "--prediction", folders[1])
        assert "different runs" in results.stderr


def test_letters_of_a_truth_that_mean_different_steps_are_told(folders):
    write_boards(folders[0], a="x", b="y")
    for name in "ab":
        (folders[1] / f"{name}.csv").write_text("0,10,1 cut\n10,20,2 sew\n")
    _, _, problems = scored(folders)
    assert "different runs" in problems.notes[0]
