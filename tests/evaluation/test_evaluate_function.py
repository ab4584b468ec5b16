"""`evaluate` and `score` from Python: the same checks and files as on the command line."""

from __future__ import annotations

import numpy as np
import pytest

from stepreel.errors import DatasetError, DatasetMissingError, SettingsError
from stepreel.evaluation.results import read_results
from stepreel.evaluation.run import evaluate
from stepreel.evaluation.score_predictions import score


@pytest.fixture
def takes(tmp_path):
    folder = tmp_path / "takes"
    folder.mkdir()
    labels = np.repeat([0, 1, 2, 1], 12)
    for number in range(2):
        hands = np.eye(3)[labels] + 0.1 * np.random.default_rng(number).normal(size=(48, 3))
        np.savez(folder / f"take{number}.npz", times=np.arange(48) / 4, hands=hands, labels=labels)
    return folder


def test_results_are_returned_and_written_if_asked_to(takes, tmp_path):
    results = evaluate("npz", takes, clusters=3, baselines_only=True, output=tmp_path / "out")
    assert results.protocols["strict"]["raw-kmeans"].f1.mean == 100
    assert read_results(tmp_path / "out" / "results.json") == results
    assert (tmp_path / "out" / "report.html").exists()
    assert (tmp_path / "out" / "predictions" / "takes.npz").exists()


def test_settings_and_progress_are_passed_on(takes, tmp_path):
    heard = []
    results = evaluate(
        "npz",
        takes,
        clusters=3,
        seeds=1,
        methods=["paper"],
        window_seconds=2,
        cache=tmp_path / "cache",
        progress=lambda what, done, total: heard.append(what),
        train__epochs=2,
        train__n_chunks=8,
    )
    settings = results.settings.methods["paper"]
    assert (settings["train"]["epochs"], settings["loss"]["window_seconds"]) == (2, 2.0)
    assert any(what.startswith("paper 1/1: ") for what in heard)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"methods": ["magic"]}, "unknown method 'magic'; known: random"),
        ({"methods": []}, "no method is named"),
        ({"methods": ["paper"], "baselines_only": True}, "leaves none"),
        ({"seeds": 0}, "seeds: 0"),
        ({"seeds": [1, 2]}, r"seeds: \[1, 2\] is not a number from 1"),
        ({"sweep_clusters": "3"}, "sweep over clusters: 3 is not a whole number"),
        ({"clusters": 0}, "n_clusters"),
        ({"rate": -1}, "moments_per_second"),
        ({"fps": 0}, r"fps=…\): 0 is not a rate"),
        ({"preset": "mecano"}, "unknown preset"),
        ({"truth": "labels"}, "is for videos"),
        ({"task_metrics": ["speed"]}, "unknown task metric 'speed'"),
        ({"sweep_clusters": [5000]}, "sweep over clusters: 5000"),
        ({"sweep_recordings": [0]}, "sweep over recordings: 0"),
        ({"train__epoch": 3}, r"unknown setting 'train\.epoch'"),
        ({"train__seed": 3}, "use --seeds"),
        ({"device": "abacus"}, "unknown device"),
    ],
)
def test_a_wrong_option_is_a_settings_error(takes, tmp_path, options, words):
    with pytest.raises(SettingsError, match=words):
        evaluate("npz", takes, output=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_kinds_of_datasets_are_checked(takes):
    with pytest.raises(SettingsError, match="unknown kind of dataset 'coco'; known: npz"):
        evaluate("coco", takes)
    with pytest.raises(SettingsError, match="extract__cues"):
        evaluate("videos", takes, cues=["gaze"])
    with pytest.raises(DatasetMissingError, match="expected layout"):
        evaluate("npz", takes / "nowhere")


def test_an_error_tells_what_had_been_left_out_before(takes):
    for path in takes.iterdir():
        np.savez(path, times=np.arange(9.0), hands=np.eye(9))
    with pytest.raises(DatasetError, match="can be used") as problem:
        evaluate("npz", takes, lenient=True)
    assert len(problem.value.__notes__) == 2
    assert "a recording without labels" in problem.value.__notes__[0]


def test_predictions_are_scored_from_python(tmp_path):
    for folder in ("truth", "predicted"):
        (tmp_path / folder).mkdir()
        labels = np.repeat([1, 2, 3], 4)
        np.savez(tmp_path / folder / "a.npz", times=np.arange(12.0), labels=labels)
    results = score(tmp_path / "truth", tmp_path / "predicted", output=tmp_path / "out")
    assert results.protocols["strict"]["prediction"].f1.mean == 100
    assert results.method_kinds["prediction"] == "other"
    assert read_results(tmp_path / "out" / "results.json") == results
    for options in ({"seeds": 0}, {"fps": 0}, {"rate": -1}, {"clusters": 0}):
        with pytest.raises(SettingsError, match=next(iter(options))):
            score(tmp_path / "truth", tmp_path / "predicted", **options)


def test_names_may_be_comma_separated_text(takes):
    results = evaluate(
        "npz", takes, clusters=3, seeds=1, methods="random, equal-split", cues="hands"
    )
    assert list(results.protocols["strict"]) == ["random", "equal-split"]
