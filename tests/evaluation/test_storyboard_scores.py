"""Storyboards of whole tasks: means over recordings, seeds and tasks, and what is left out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from evaluations import make_comparison, make_evaluation

from stepreel.evaluation.build_results import build_results
from stepreel.evaluation.compare import TaskComparison
from stepreel.evaluation.datasets.base import LabelledTask
from stepreel.evaluation.methods.base import Prediction
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.prepare import PreparedTask
from stepreel.evaluation.results import Results, read_results, results_schema
from stepreel.evaluation.run import evaluate
from stepreel.evaluation.score_predictions import score

VERSION_1 = Path(__file__).parents[1] / "fixtures" / "v0.1.0"
PLAN = Plan(methods=("equal-split",), n_clusters=2, seeds=(0, 1))
NO_STEPS = np.zeros(20, int)
TWO_STEPS = np.repeat([1, 2], 10)  # one border at 10 s
NOTHING = np.full(20, -1)


def compared(truth, *predictions):
    """Compare predictions, one per seed, of recordings of 20 s with one moment per second."""
    n = len(truth)
    prepared = PreparedTask(
        LabelledTask("made up", (), {}),
        names=[f"take{number}" for number in range(n)],
        splits=[""] * n,
        times=[np.arange(20.0)] * n,
        truth=truth,
        recordings=None,
    )
    comparison = TaskComparison(prepared, PLAN.n_clusters)
    comparison.add("mine", [Prediction(labels, labels) for labels in predictions])
    return comparison


def results_of(*comparisons):
    return build_results({"name": "npz"}, comparisons, PLAN)


def test_figures_are_means_over_recordings_of_each_seed():
    # First seed: right, and nothing shown. Second seed: right twice.
    right = np.repeat([0, 1], 10)
    results = results_of(compared([TWO_STEPS] * 2, [right, NOTHING], [right, right]))
    coverage, borders = (results.storyboard.coverage["mine"], results.storyboard.borders["mine"])
    assert coverage.f1.seeds == [50, 100]
    assert coverage.n_shown.seeds == [1, 2]
    assert coverage.n_true.seeds == [2, 2]
    assert borders["1s"].recall.seeds == [50, 100]
    assert borders["1s"].n_shown.seeds == [0.5, 1]
    # Two equal parts have the border at 10 s, too; of nothing, chance makes nothing.
    assert borders["1s"].nulls["matched-split"].f1.seeds == [50, 100]
    assert borders["1s"].nulls["equal-split"].f1.seeds == [100, 100]


def test_a_recording_without_a_true_step_is_left_out_and_counted():
    right = np.repeat([0, 1], 10)
    results = results_of(compared([TWO_STEPS, NO_STEPS], *[[right, right]] * 2))
    assert (results.storyboard.recordings, results.storyboard.left_out) == (1, 1)
    assert results.storyboard.coverage["mine"].f1.mean == 100
    assert results.notes == ["take1: shows no key step; coverage and borders leave it out"]


def test_figures_of_several_tasks_are_plain_means_over_tasks():
    right, wrong = np.repeat([0, 1], 10), NOTHING
    first = compared([TWO_STEPS] * 3, *[[right] * 3] * 2)
    second = compared([TWO_STEPS], *[[wrong]] * 2)
    results = results_of(first, second)
    assert results.storyboard.coverage["mine"].f1.mean == 50
    assert results.storyboard.recordings == 4


def test_every_task_and_group_has_its_own_figures():
    results = Results.model_validate(make_evaluation(tasks=["tea", "coffee"])[0])
    for scored in (results.tasks["tea"], results.groups["cold"]):
        assert scored.storyboard is not None
        assert set(scored.storyboard.coverage) == set(results.protocols["strict"])
    assert results.storyboard_of_task("tea") == results.tasks["tea"].storyboard


def test_equal_predictions_are_scored_once(monkeypatch):
    calls = []
    comparison = make_comparison(methods=("equal-split",), plan=PLAN)
    comparison.predictions["equal-split"] = comparison.predictions["equal-split"][:1] * 2
    name = "stepreel.evaluation.storyboard_scores.StoryboardJudge._measure"
    monkeypatch.setattr(name, counted(calls, name))
    results_of(comparison)
    assert len(calls) == 2  # the method, and the equal split into K


def counted(calls, name):
    from stepreel.evaluation.storyboard_scores import StoryboardJudge

    measure = StoryboardJudge._measure

    def count(self, shown):
        calls.append(name)
        return measure(self, shown)

    return count


# Files


def test_results_follow_their_schema():
    values = json.loads(Results.model_validate(make_evaluation()[0]).to_json())
    assert set(results_schema()["$defs"]["MeasureFigures"]["required"]) == set(
        values["storyboard"]["coverage"]["paper"]
    )
    Results.model_validate(values)
    del values["storyboard"]["coverage"]["paper"]["n_true"]
    with pytest.raises(ValueError, match=r"storyboard\.coverage\.paper\.n_true"):
        Results.model_validate(values)


def test_results_of_version_1_have_no_storyboard_and_are_written_without():
    results = read_results(VERSION_1 / "results.json")
    assert results.storyboard is None
    assert '"storyboard"' not in results.to_json()


def test_evaluate_scores_storyboards_and_clusters_alone_where_there_are_features(tmp_path):
    for number in range(2):
        labels = np.repeat([1, 0, 2, 1], 10)
        noise = np.random.default_rng(number).normal(size=(40, 3))
        np.savez(
            tmp_path / f"take{number}.npz",
            times=np.arange(40) / 2,
            arm=np.eye(3)[labels] + 0.05 * noise,
            labels=labels,
        )
    methods = ["equal-split", "raw-kmeans"]
    results = evaluate(
        "npz", tmp_path, clusters=3, seeds=2, methods=methods, output=tmp_path / "out",
        cache=tmp_path / "cache",
    )  # fmt: skip
    own = read_results(tmp_path / "out" / "results.json").storyboard
    assert own == results.storyboard
    # k-means finds all segments: background is one more, wasted picture, and its borders are true.
    assert own.coverage["raw-kmeans"].precision.mean == 75
    assert own.coverage["raw-kmeans"].recall.mean == 100
    assert own.borders["raw-kmeans"]["1s"].f1.mean == 100
    assert own.borders["equal-split"]["1s"].n_true.mean == 3
    assert own.alone.coverage["raw-kmeans"].f1.mean == own.coverage["raw-kmeans"].f1.mean
    frame = list(results._rows())
    assert {row[2] for row in frame} >= {"coverage", "borders-5%", "borders-5%-per-video"}


def storyboard_folder(tmp_path, steps):
    """Write a storyboard of 8 s with these steps; its truth: step 1 0-2, 2 2-4, 3 4-8 s."""
    board = json.loads((VERSION_1 / "run" / "tiny" / "storyboard.json").read_text())
    board["steps"] = [
        {**board["steps"][0], "index": index, "start": start, "end": end, "time": time}
        for index, (start, end, time) in enumerate(steps, start=1)
    ]
    for folder in ("truth", "found"):
        (tmp_path / folder).mkdir()
    (tmp_path / "found" / "storyboard.json").write_text(json.dumps(board))
    (tmp_path / "truth" / "tiny.csv").write_text("1,0,2\n2,2,4\n3,4,8\n")
    return tmp_path / "truth", tmp_path / "found"


def test_a_storyboard_is_scored_by_its_own_steps_and_moments(tmp_path):
    # The moments are at the very beginning of the steps; the middle of the second is background
    # nowhere, but it would be in step 3, as the third one is.
    results = score(*storyboard_folder(tmp_path, [(0, 2, 0.1), (2.5, 7, 2.6), (7, 8, 7.5)]))
    own = results.storyboard.coverage["prediction"]
    assert (own.precision.mean, own.recall.mean, own.n_shown.mean) == (100, 100, 3)
    # Borders within 0.4 s (5 %): 2 and 2.5 are two, and 7; of the true ones, 2 and 4, one is met.
    borders = results.storyboard.borders["prediction"]
    assert borders["5%"].n_shown.mean == 3
    assert borders["5%"].f1.mean == pytest.approx(40)
    # Within 1 s there are 2.25, and 7 is within 1 s of the end.
    assert borders["1s"].n_shown.mean == 1
    assert borders["1s"].precision.mean == 100
    assert results.storyboard.alone is None


def test_every_entry_of_a_storyboard_counts_as_often_as_it_is_shown(tmp_path):
    results = score(*storyboard_folder(tmp_path, [(0, 2, 1.0)] * 4))
    own = results.storyboard.coverage["prediction"]
    assert (own.n_shown.mean, own.precision.mean) == (4, 25)


def test_a_storyboard_without_steps_is_worth_nothing(tmp_path):
    results = score(*storyboard_folder(tmp_path, []))
    for methods in results.storyboard.by_name().values():
        assert methods["prediction"].f1.mean == 0
        assert methods["prediction"].n_shown.mean == 0
        assert methods["equal-split"].n_shown.mean > 0


def test_other_moments_of_a_storyboard_are_another_prediction(tmp_path):
    prints = set()
    for number, time in enumerate((0.5, 1.5)):
        (tmp_path / str(number)).mkdir()
        results = score(*storyboard_folder(tmp_path / str(number), [(0, 2, time)]))
        prints.add(results.dataset.predictions_fingerprint)
    assert len(prints) == 2
