"""`evaluate` and `score` as researchers type them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from videos import busy_task, steady, write_video

from cli.commands import FAST, stepreel

BRIEF = ["--set", "train.epochs=3", "--set", "train.n_chunks=16"]
PROTOCOLS = (
    "egoprocel",
    "egoprocel-pooled",
    "per-video",
    "per-video-pooled",
    "strict",
    "strict-per-video",
)
METHODS = (
    "random",
    "equal-split",
    "concatenated-split",
    "one-cluster",
    "raw-kmeans",
    "time-kmeans",
    "context-kmeans",
    "paper",
    "stepreel",
)
FIGURES = ("f1", "precision", "recall", "iou", "mof", "edit", "f1_10", "f1_25", "f1_50")


def write_takes(folder, *, labels=None, n=3):
    """Write recordings of a task of four steps; `labels` can replace the true labels."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(n):
        rng = np.random.default_rng(number)
        true = np.repeat([0, 1, 2, 1, 3], [4, 12, 9, 10, 13 + number])
        hands = np.eye(4)[true] + 0.2 * rng.normal(size=(len(true), 4))
        np.savez(
            folder / f"take{number}.npz",
            times=np.arange(len(true)) / 4,
            hands=hands,
            gaze=hands[:, :2],
            labels=true if labels is None else labels(true, rng),
        )
    return folder


@pytest.fixture(scope="module")
def takes(tmp_path_factory):
    return write_takes(tmp_path_factory.mktemp("takes") / "task")


@pytest.fixture(scope="module")
def evaluated(takes):
    out = takes.parent / "results"
    done = stepreel("evaluate", "npz", takes, "-k", 3, "--seeds", 2, "-o", out, *BRIEF)
    assert done.returncode == 0, done.stderr
    return done.stdout, out


def results_of(folder):
    return json.loads((folder / "results.json").read_text())


def assert_error(done, *words, status=2):
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def test_every_method_is_scored_under_every_protocol(evaluated):
    said, out = evaluated
    results = results_of(out)
    for protocol in PROTOCOLS:
        assert tuple(results["protocols"][protocol]) == METHODS
        for method, figures in results["protocols"][protocol].items():
            assert method in said
            for figure in FIGURES:
                own = figures[figure]
                assert len(own["seeds"]) == 2
                assert own["mean"] == pytest.approx(np.mean(own["seeds"]), abs=1e-3)
                assert own["std"] == pytest.approx(np.std(own["seeds"]), abs=1e-3)
                assert 0 <= own["mean"] <= 100
            if "ceiling" in figures:  # every step counts: F1 is the mean over steps
                own = [step["f1"]["mean"] for step in figures["per_step"].values()]
                assert figures["f1"]["mean"] == pytest.approx(np.mean(own), abs=1e-3)
    assert results["protocols"]["strict"]["equal-split"]["ceiling"]["mean"] == 100
    assert results["skipped"] == {}


def test_storyboards_of_every_method_are_measured_next_to_the_same_number(evaluated):
    said, out = evaluated
    storyboard = results_of(out)["storyboard"]
    for tables in (storyboard, storyboard["alone"]):
        assert tuple(tables["coverage"]) == tuple(tables["borders"]) == METHODS
        for method in METHODS:
            for figures in (tables["coverage"][method], *tables["borders"][method].values()):
                assert set(figures["nulls"]) == {"matched-split", "matched-random", "equal-split"}
                for rates in (figures, *figures["nulls"].values()):
                    assert all(0 <= rates[name]["mean"] <= 100 for name in ("f1", "recall"))
                    assert len(rates["precision"]["seeds"]) == 2
    assert "coverage: is every true step shown, once?" in said
    assert "borders-5%" in said
    assert 'id="storyboards"' in (out / "report.html").read_text()


def test_results_start_with_settings_version_and_data(evaluated, takes):
    results = results_of(evaluated[1])
    paper, ours = (results["settings"]["methods"][m] for m in ("paper", "stepreel"))
    assert paper["loss"]["bootstrap_on"] == "all"
    assert paper["embed"]["cues"] == "all"
    assert (paper["train"]["epochs"], paper["train"]["batch_size"]) == (3, 4)
    assert ours["key_steps"]["decoder"] == "auto"
    assert len(results["data_fingerprint"]) == 32
    assert results["dataset"]["tasks"]["task"]["cues"] == {"hands": 4, "gaze": 2}
    assert results["stepreel_version"]


def test_a_second_run_reads_predictions_from_the_cache(evaluated, takes, tmp_path):
    again = stepreel("evaluate", "npz", takes, "-k", 3, "--seeds", 2, "-o", tmp_path, *BRIEF)
    assert again.returncode == 0
    assert (tmp_path / "results.json").read_bytes() == (evaluated[1] / "results.json").read_bytes()


def test_a_rerun_after_a_crash_gives_the_same_results(evaluated, takes, tmp_path):
    arguments = ["evaluate", "npz", takes, "-k", 3, "--seeds", 2, "-o", tmp_path / "r", *BRIEF]
    arguments += ["--cache", tmp_path / "cache", "--set", "train.checkpoint_seconds=0"]
    crashed = stepreel(*arguments, STEPREEL_FAILPOINT="mid-epoch")
    assert crashed.returncode in (-9, 137)
    assert not (tmp_path / "r" / "results.json").exists()
    assert list(
        (tmp_path / "cache" / "predictions").glob("time-kmeans-*")
    )  # finished before the crash, and kept
    again = stepreel(*arguments)
    assert again.returncode == 0, again.stderr
    expected = results_of(evaluated[1])["protocols"]
    assert results_of(tmp_path / "r")["protocols"] == expected


def test_predictions_and_a_page_are_written_with_the_results(evaluated):
    with np.load(evaluated[1] / "predictions" / "task.npz") as found:
        assert found["take0/paper/1/together"].shape == found["take0/truth"].shape
        assert found["take0/stepreel/0/alone"].max() < 3
    page = (evaluated[1] / "report.html").read_text()
    assert "equal-split" in page
    assert "strict-per-video" in page


def test_predictions_do_not_depend_on_the_labels(evaluated, tmp_path):
    other = write_takes(tmp_path / "task", labels=lambda true, rng: rng.permutation(true))
    done = stepreel(
        "evaluate", "npz", other, "-k", 3, "--seeds", 2, "-o", tmp_path / "r", *BRIEF,
        "--cache", tmp_path / "cache",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with (
        np.load(evaluated[1] / "predictions" / "task.npz") as one,
        np.load(tmp_path / "r" / "predictions" / "task.npz") as two,
    ):
        assert set(one.files) == set(two.files)
        different = [name for name in one.files if not np.array_equal(one[name], two[name])]
    assert different == ["take0/truth", "take1/truth", "take2/truth"]


def test_methods_seeds_and_cues_can_be_chosen(takes, tmp_path):
    done = stepreel(
        "evaluate", "npz", takes, "--methods", "equal-split,raw-kmeans", "--cues", "gaze",
        "--seeds", 1, "-k", 2, "-o", tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = results_of(tmp_path)
    assert tuple(results["protocols"]["strict"]) == ("equal-split", "raw-kmeans")
    assert results["dataset"]["tasks"]["task"]["cues"] == {"gaze": 2}
    assert results["protocols"]["strict"]["raw-kmeans"]["ceiling"]["mean"] == pytest.approx(
        66.6667, abs=1e-3
    )


def test_sweeps_and_task_metrics_have_separate_tables(takes, tmp_path):
    done = stepreel(
        "evaluate", "npz", takes, "-k", 3, "--seeds", 1, "-o", tmp_path, *BRIEF,
        "--sweep-clusters", "2,4", "--sweep-cues", "--sweep-recordings", "1,2,9",
        "--task-metric", "phases", "--task-metric", "kendall,key-steps",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = results_of(tmp_path)
    assert set(results["sweeps"]["clusters"]) == {"2", "4"}
    assert set(results["sweeps"]["clusters"]["4"]["protocols"]["strict"]) == set(METHODS)
    assert set(results["sweeps"]["cues"]) == {"hands", "gaze", "hands+gaze"}
    assert set(results["sweeps"]["recordings"]) == {"1", "2", "all"}
    assert {"equal-split", "paper"} < set(results["sweeps"]["cues"]["gaze"]["protocols"]["strict"])
    phases = results["task_metrics"]["phases"]["methods"]
    assert set(phases) == {"most-frequent", "time", "raw", "paper"}
    assert "without stepreel, whose decoder trains nothing" in done.stderr
    assert (
        phases["raw"]["with-background 1"]["mean"]
        > phases["most-frequent"]["with-background 1"]["mean"]
    )
    kendall = results["task_metrics"]["kendall"]["methods"]
    assert kendall["time"]["tau_b"]["mean"] > 0.95
    quality = results["task_metrics"]["key-steps"]["methods"]
    assert quality["equal-split"]["representation"]["mean"] > 50
    for word in ("clusters, protocol strict", "tau_text", "representation"):
        assert word in done.stdout


def test_annotations_without_features_give_null_rows_and_reasons_for_the_rest(tmp_path):
    folder = tmp_path / "set" / "annotations" / "meccano"
    folder.mkdir(parents=True)
    (folder / "0003.csv").write_text("1.0,4.0,2 screw\n5.0,9.5,1 plug\n")
    (tmp_path / "set" / "durations.csv").write_text("task,video,duration_s\nmeccano,0003,10.0\n")
    arguments = ["evaluate", "egoprocel", tmp_path / "set", "-k", 2, "-o", tmp_path / "r"]
    done = stepreel(*arguments, "--baselines-only")
    assert done.returncode == 0, done.stderr
    results = results_of(tmp_path / "r")
    assert tuple(results["protocols"]["egoprocel"]) == METHODS[:4]
    assert set(results["skipped"]) == {"raw-kmeans", "time-kmeans", "context-kmeans"}
    assert "no videos and no features" in results["skipped"]["raw-kmeans"]
    assert results["dataset"]["tasks"]["meccano"]["moments"] == 60  # 6 per second
    everything = stepreel(*arguments)
    assert set(results_of(tmp_path / "r")["skipped"]) == set(METHODS[4:])
    assert "paper: not run: needs features" in everything.stdout
    assert_error(stepreel(*arguments, "--task-metric", "kendall"), "a task metric needs features")


def test_videos_are_extracted_and_matched_with_labels_by_name(tmp_path):
    (tmp_path / "takes").mkdir()
    (tmp_path / "truth").mkdir()
    for number in range(2):
        write_video(tmp_path / "takes" / f"take{number}.mp4", steady(120), busy_task(number))
        (tmp_path / "truth" / f"take{number}.csv").write_text("0.5,2.0,1 open\n2.0,3.9,2 close\n")
    arguments = [
        "evaluate", "videos", tmp_path / "takes", "--truth", tmp_path / "truth", "-k", 2,
        "--seeds", 1, "--window-seconds", 1, "-o", tmp_path / "r", *FAST,
    ]  # fmt: skip
    done = stepreel(*arguments)
    assert done.returncode == 0, done.stderr
    results = results_of(tmp_path / "r")
    assert tuple(results["protocols"]["strict"]) == METHODS
    assert results["settings"]["methods"]["paper"]["loss"]["window_seconds"] == 1
    assert results["dataset"]["tasks"]["takes"]["steps"]["2"] == "close"
    (tmp_path / "truth" / "take1.csv").unlink()
    assert_error(stepreel(*arguments), "take1.mp4: a recording without labels", "--lenient")
    left_out = stepreel(*arguments, "--lenient")
    assert left_out.returncode == 1
    assert "left out: take1.mp4" in left_out.stderr


def test_nan_features_are_rejected_by_file_and_row_or_left_out_and_counted(tmp_path):
    takes = write_takes(tmp_path / "task")
    with np.load(takes / "take1.npz") as file:
        arrays = dict(file)
    arrays["hands"][7, 2] = np.nan
    np.savez(takes / "take1.npz", **arrays)
    arguments = ["evaluate", "npz", takes, "-k", 3, "--seeds", 1, "-o", tmp_path / "r", *BRIEF]
    assert_error(
        stepreel(*arguments), "take1: 1 of", "rows of hands with NaN or infinity", "row 8 (1.75 s)"
    )
    done = stepreel(*arguments, "--lenient")
    assert done.returncode == 1, done.stderr
    assert "1 thing" in done.stderr
    assert len(results_of(tmp_path / "r")["left_out"]) == 1
    assert "paper" in results_of(tmp_path / "r")["protocols"]["strict"]


def test_labels_without_a_step_cannot_be_scored(tmp_path):
    takes = write_takes(tmp_path / "task", labels=lambda true, rng: 0 * true)
    assert_error(
        stepreel("evaluate", "npz", takes, "-o", tmp_path / "r"),
        "no key step is labelled at any of the 147 moments",
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["coco", "."], ["unknown kind of dataset 'coco'", "egoprocel", "npz"]),
        (["npz", "nowhere"], ["nowhere", "no such folder", "expected layout", ".npz"]),
        (["penn", "empty"], ["Penn Action", "http", "expected layout"]),
        (["egoprocel", "empty"], ["EgoProceL", "http", "annotations"]),
        (["npz", ".", "--methods", "magic"], ["unknown method 'magic'", "time-kmeans"]),
        (["npz", ".", "--methods", "paper", "--baselines-only"], ["leaves none"]),
        (["npz", ".", "--set", "train.epoch=1"], ["unknown setting", "epochs"]),
        (["npz", ".", "--set", "key_steps.n_clusters=3"], ["use --clusters"]),
        (["npz", ".", "--preset", "mecano"], ["unknown preset", "meccano"]),
        (["npz", ".", "--task-metric", "speed"], ["unknown task metric", "kendall"]),
        (["npz", ".", "--sweep-clusters", "7,x"], ["expected whole numbers"]),
        (["npz", ".", "--sweep-clusters", "5000"], ["from 1 to 1000"]),
        (["npz", ".", "--truth", "labels"], ["--truth (truth=…) is for videos"]),
        (["videos", ".", "--cues", "gaze"], ["--set extract.cues"]),
    ],
)
def test_invalid_arguments_are_explained(tmp_path, arguments, words):
    (tmp_path / "empty").mkdir()
    assert_error(stepreel("evaluate", *arguments, "-o", tmp_path / "r", cwd=tmp_path), *words)
    assert not (tmp_path / "r").exists()


def test_an_unknown_task_or_cue_lists_the_known_ones(takes, tmp_path):
    arguments = ["evaluate", "npz", takes, "-o", tmp_path / "r"]
    assert_error(stepreel(*arguments, "--task", "sewing"), "sewing", "task")
    assert_error(stepreel(*arguments, "--cues", "feet"), "no cue 'feet'", "hands")
    assert_error(stepreel(*arguments, "--set", "embed.cues=feet", *BRIEF), "feet", "hands, gaze")


def test_score_compares_storyboards_with_true_steps(tmp_path):
    write_video(tmp_path / "take one.mp4", steady(180), busy_task(0))
    done = stepreel("run", tmp_path / "take one.mp4", "-o", tmp_path / "out", "-k", 3, *FAST)
    assert done.returncode == 0, done.stderr
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / "take one.csv").write_text("0.5,2.0,1 open\n2.0,3.9,2 close, then rest\n")
    arguments = ["score", "--truth", tmp_path / "truth", "--prediction", tmp_path / "out"]
    scored = stepreel(*arguments, "--protocol", "all", "-o", tmp_path / "r")
    assert scored.returncode == 0, scored.stderr
    for word in ("K = 3", "equal-split", "prediction", *PROTOCOLS):
        assert word in scored.stdout
    assert set(results_of(tmp_path / "r")["protocols"]["strict"]) == {*METHODS[:4], "prediction"}
    board = json.loads(next((tmp_path / "out").rglob("storyboard.json")).read_text())
    own = results_of(tmp_path / "r")["storyboard"]
    assert own["coverage"]["prediction"]["n_shown"]["mean"] == len(board["steps"])
    assert set(own["borders"]["prediction"]) == {"1s", "2s", "5%"}
    assert set(own["coverage"]) == {*METHODS[:4], "prediction"}
    only = stepreel(*arguments, "--protocol", "borders")
    assert only.returncode == 0, only.stderr
    assert "within 2 s" in only.stdout
    assert "coverage:" not in only.stdout
    assert "MoF" not in only.stdout
    one = stepreel(*arguments, "--protocol", "strict")
    assert "strict" in one.stdout
    assert "egoprocel" not in one.stdout
    assert "borders" not in one.stdout
    (tmp_path / "truth" / "take one.csv").write_text("0.5,2.0,1 open\n2.0,39,2 close\n")
    assert_error(stepreel(*arguments), "take one.csv, line 2", "past the end")


def test_a_perfect_labelling_gets_a_perfect_score(tmp_path):
    for folder in ("truth", "found"):
        (tmp_path / folder).mkdir()
    labels = ["wait", "cut", "cut", "background", "sew", "sew"]
    (tmp_path / "truth" / "a.txt").write_text("\n".join(labels) + "\n")
    clusters = ["0", "2", "2", "-1", "1", "1"]
    (tmp_path / "found" / "a.txt").write_text("\n".join(clusters) + "\n")
    arguments = ["score", "--truth", tmp_path / "truth", "--prediction", tmp_path / "found"]
    assert_error(stepreel(*arguments), "give --fps")
    done = stepreel(*arguments, "--fps", 2, "-o", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    for protocol in PROTOCOLS:
        assert results_of(tmp_path / "r")["protocols"][protocol]["prediction"]["f1"]["mean"] == 100


def test_score_reports_files_without_a_match(tmp_path):
    for folder, name in (("truth", "a"), ("truth", "b"), ("found", "b"), ("found", "c")):
        (tmp_path / folder).mkdir(exist_ok=True)
        np.savez(tmp_path / folder / f"{name}.npz", times=np.arange(6.0), labels=np.arange(6) // 2)
    arguments = ["score", "--truth", tmp_path / "truth", "--prediction", tmp_path / "found"]
    assert_error(stepreel(*arguments), "a: has true steps, but no prediction")
    done = stepreel(*arguments, "--lenient")
    assert done.returncode == 1
    assert "c: has a prediction, but no true steps" in done.stderr
    assert "1 recording scored, K = 3" in done.stdout
    assert_error(
        stepreel(*arguments, "--protocol", "loose"), "unknown protocol", "per-video-pooled"
    )
    assert_error(stepreel(*arguments, "--lenient", "-k", 2), "use 3 clusters, more than the 2")


def test_the_reasons_are_reported_if_no_recording_is_left(tmp_path):
    for name in ("a", "b"):
        np.savez(tmp_path / f"{name}.npz", times=np.arange(9.0), hands=np.eye(9))
    done = stepreel("evaluate", "npz", tmp_path, "--lenient", "-k", 3, "-o", tmp_path / "r")
    assert done.returncode == 2
    assert done.stderr.count("a recording without labels") == 2
    assert "can be used" in done.stderr
