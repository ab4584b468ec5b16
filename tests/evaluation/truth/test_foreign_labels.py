"""Label files that others made: refused or read in bounded time and memory."""

from __future__ import annotations

import os

import numpy as np
import pytest
from limits import HANG_SECONDS, within

from stepreel.errors import DatasetError, SettingsError
from stepreel.evaluation.score_predictions import score
from stepreel.evaluation.truth.annotation import labels_of_spans
from stepreel.evaluation.truth.formats import guess_line_format
from stepreel.evaluation.truth.label_files import read_label_file
from stepreel.evaluation.truth.step_list import number_by_name, split_number
from stepreel.storyboard.schema import read_storyboard

LONG = 20_000
QUADRATIC_SECONDS = 60  # a busy machine needs a few; what is quadratic takes minutes


@pytest.mark.parametrize(
    "line",
    [
        "1" * LONG + "x",
        "1" * LONG + "," + "2" * LONG + "," + "3" * LONG + "x",
        "." + "1" * LONG + "," + "1." + "2" * LONG + "!",
        "1e" + "1" * LONG + ",x",
        "1,2," + " " * LONG + "x",
        '1,2,"' + " " * LONG + '"',
        " " * LONG + "1" + " " * LONG + ",",
    ],
)
def test_the_format_of_a_long_line_is_found_in_no_time(line):
    with within(QUADRATIC_SECONDS):
        guess_line_format(line)


def test_the_number_of_a_long_label_is_found_in_no_time():
    with within(QUADRATIC_SECONDS):
        assert split_number("1" + " " * 10 * LONG + "\n" + " " * 10 * LONG) == (1, "1")
        assert split_number("1 " + "a " * LONG + "\nb")[0] is None


def test_tiers_within_tiers_are_read_in_no_time_and_are_not_tiers(tmp_path):
    annotation = (
        '<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a" TIME_SLOT_REF1="t1" '
        'TIME_SLOT_REF2="t2"><ANNOTATION_VALUE>cut</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION>'
        "</ANNOTATION>"
    )
    slots = '<TIME_ORDER><TIME_SLOT TIME_SLOT_ID="t1" TIME_VALUE="0"/></TIME_ORDER>'
    path = tmp_path / "take.eaf"
    nested = "<TIER>" * 2 * LONG + annotation + "</TIER>" * 2 * LONG
    path.write_text(f"<ANNOTATION_DOCUMENT>{slots}{nested}</ANNOTATION_DOCUMENT>")
    with (
        within(QUADRATIC_SECONDS),
        pytest.raises(DatasetError, match="no annotation with its own times"),
    ):
        read_label_file(path)


def test_many_spans_are_looked_up_in_no_time():
    n = 200_000
    times = np.arange(n) / 10
    spans = [(t, t + 0.1, i % 7 + 1) for i, t in enumerate(times.tolist())]
    with within(QUADRATIC_SECONDS):
        assert labels_of_spans(spans, times, 0).tolist() == [i % 7 + 1 for i in range(n)]


def test_spans_are_looked_up_as_a_comparison_of_all_times_would():
    random = np.random.default_rng(0)
    times = np.unique(random.integers(0, 50, 30) / 4)
    spans = [(a, a + b, i + 1) for i, (a, b) in enumerate(random.integers(0, 12, (8, 2)) / 4)]
    expected = np.zeros(len(times), np.int64)
    for start, end, label in spans:
        expected[(times >= start) & (times < end)] = label
    assert labels_of_spans(spans, times, 0).tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["take.csv", "take.txt", "take.eaf", "take.npz", "take.json"])
def test_pipes_and_devices_are_refused(tmp_path, name):
    for kind in ("pipe", "device"):
        folder = tmp_path / kind
        folder.mkdir()
        if kind == "pipe":
            os.mkfifo(folder / name)
        else:
            (folder / name).symlink_to("/dev/zero")
        with within(HANG_SECONDS), pytest.raises(DatasetError, match="is a pipe or a device"):
            read_label_file(folder / name, 25.0)
        with within(HANG_SECONDS), pytest.raises(DatasetError, match="is a pipe or a device"):
            score(folder, folder)


@pytest.mark.parametrize("label", ["nan", "inf", "-Infinity", "1e300", "2.5", "1e18", "9" * 400])
def test_numbers_that_no_step_can_have_are_not_steps(tmp_path, label):
    (tmp_path / "take.txt").write_text(f"1\n2\n{label}\n")
    with pytest.raises(DatasetError, match=r"take\.txt: .* is not a step; expected a name"):
        read_label_file(tmp_path / "take.txt", 25.0)
    labels = np.array([1.0, 2.0, float(label)])
    np.savez(tmp_path / "take.npz", times=np.arange(3.0), labels=labels)
    with pytest.raises(DatasetError, match=r"take\.npz: label .* of moment 3; expected the number"):
        read_label_file(tmp_path / "take.npz")


@pytest.mark.parametrize("cluster", [np.inf, -np.inf, np.nan, 1e300, 1e18, 0.5, 2**63])
def test_predictions_that_are_no_numbers_of_clusters_are_refused(tmp_path, cluster):
    for folder in ("truth", "predicted"):
        (tmp_path / folder).mkdir()
    (tmp_path / "truth" / "take.csv").write_text("0,2,1 cut\n")
    clusters = np.array([0, cluster], np.uint64 if cluster == 2**63 else float)
    np.savez(tmp_path / "predicted" / "take.npz", times=np.arange(2.0), cluster=clusters)
    with pytest.raises(DatasetError, match=r"take\.npz: `cluster`"):
        score(tmp_path / "truth", tmp_path / "predicted")


@pytest.mark.parametrize("fps", [np.inf, -np.inf, np.nan, 0.0, -1.0, 1e-300, 1e300])
def test_impossible_rates_are_refused(tmp_path, fps):
    for option in ("fps", "rate"):
        with pytest.raises(SettingsError, match=rf"--{option} .* is not a rate"):
            score(tmp_path, tmp_path, **{option: fps})


def test_a_million_steps_are_refused():
    with pytest.raises(DatasetError, match="1,000,000 different steps"):
        number_by_name(str(number) for number in range(1, 1_000_001))


@pytest.mark.parametrize(
    ("key_steps", "message"),
    [
        ([1], "key_steps must be an object"),
        ({"n_clusters": "7"}, "n_clusters must be a whole number"),
        ({"n_clusters": None}, "n_clusters must be a whole number"),
        ({"n_clusters": 10**9}, "n_clusters must be from 1 to 1000"),
        ({"n_clusters": 0}, "n_clusters must be from 1 to 1000"),
    ],
)
def test_a_storyboard_with_settings_of_wrong_types_is_refused(tmp_path, key_steps, message):
    from boards import make_board

    board = make_board().model_copy(update={"settings": {"key_steps": key_steps}})
    path = tmp_path / "storyboard.json"
    path.write_text(board.to_json())
    with pytest.raises(Exception, match=f"settings: .*{message}"):
        read_storyboard(path)
