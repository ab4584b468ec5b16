"""Sweeps, metrics and results of small sets, in one process."""

from __future__ import annotations

import numpy as np
import pytest

from stepreel.config import load_settings
from stepreel.errors import DatasetError, StoreError
from stepreel.evaluation.datasets.base import Request
from stepreel.evaluation.datasets.catalog import DATASETS
from stepreel.evaluation.extras import Extras
from stepreel.evaluation.methods.runner import MethodRunner
from stepreel.evaluation.plan import Plan
from stepreel.evaluation.report.text import more_tables, protocol_tables, storyboard_tables
from stepreel.evaluation.results import Results, read_results
from stepreel.evaluation.run import evaluate_tasks
from stepreel.evaluation.task_metrics import TASK_METRICS
from stepreel.evaluation.truth.annotation import Problems
from stepreel.evaluation.write_results import write_evaluation
from stepreel.system.store import Store

BRIEF = {"train.epochs": 2, "train.n_chunks": 8}
NULLS = ("random", "equal-split", "one-cluster")


def write_task(folder, *, n=2, seed=0, constant=False, shuffle=False, relabel=False):
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(n):
        rng = np.random.default_rng([seed, number])
        labels = np.repeat([0, 1, 2], [6, 10, 12])
        hands = (
            0 * labels[:, None] if constant else np.eye(3)[labels] + 0.1 * rng.normal(size=(28, 3))
        )
        if shuffle:
            labels = rng.permutation(labels)
        if relabel:
            labels = np.arange(28) // 3 + 10 * number
        np.savez(folder / f"take{number}.npz", times=np.arange(28) / 4, hands=hands, labels=labels)
    return folder


def run(folder, tmp_path, extras=None, cache="cache", **plan):
    problems = Problems()
    tasks = DATASETS["npz"].read(Request(folder, problems))
    options = {"n_clusters": 2, "seeds": (0, 1), "overrides": BRIEF, **plan}
    evaluation = evaluate_tasks(
        {"name": "npz", "title": "a set", "root": "set"},
        tasks,
        Plan(**options),
        MethodRunner(Store(tmp_path / cache)),
        problems,
        labels_rate=6,
        extras=extras,
    )
    return evaluation, problems


def test_labels_are_in_no_key_of_what_is_kept(tmp_path):
    run(write_task(tmp_path / "a" / "set"), tmp_path)
    kept = {path.name: path.read_bytes() for path in (tmp_path / "cache").rglob("*.safetensors")}
    assert kept
    run(write_task(tmp_path / "b" / "set", shuffle=True), tmp_path)  # the same cache
    run(write_task(tmp_path / "c" / "set", relabel=True), tmp_path)  # other steps, and more
    assert {p.name: p.read_bytes() for p in (tmp_path / "cache").rglob("*.safetensors")} == kept


def test_the_number_and_names_of_true_steps_change_no_prediction(tmp_path):
    one, other = (
        run(write_task(tmp_path / name / "set", relabel=relabel), tmp_path, cache=name)[
            0
        ].comparisons[0]
        for name, relabel in (("plain", False), ("relabelled", True))
    )
    assert not np.array_equal(one.prepared.truth[0], other.prepared.truth[0])
    for method, predictions in one.predictions.items():
        for own, same in zip(predictions, other.predictions[method], strict=True):
            for kind in ("together", "alone"):
                for labels, equal in zip(getattr(own, kind), getattr(same, kind), strict=True):
                    assert np.array_equal(labels, equal)


def test_several_tasks_give_plain_means_and_each_by_itself(tmp_path):
    write_task(tmp_path / "set" / "a b", n=2)
    write_task(tmp_path / "set" / "a-b", n=3, seed=1)
    evaluation, _ = run(tmp_path / "set", tmp_path, methods=NULLS)
    results = evaluation.results
    own = [results.of_task(t)["strict"]["random"].f1 for t in ("a b", "a-b")]
    both = results.protocols["strict"]["random"].f1
    assert both.seeds == pytest.approx(np.mean([figure.seeds for figure in own], axis=0), abs=1e-3)
    assert set(results.protocols["strict"]["random"].per_step) == {
        "a b/1", "a b/2", "a-b/1", "a-b/2",
    }  # fmt: skip
    write_evaluation(tmp_path / "out", evaluation)
    assert {f.name for f in (tmp_path / "out" / "predictions").iterdir()} == {
        "a-b.npz", "a-b-2.npz",
    }  # fmt: skip
    assert read_results(tmp_path / "out" / "results.json") == results
    assert "tasks, protocol strict" in "".join(more_tables(results))


@pytest.mark.parametrize("damage", ["zeros", "cut"])
@pytest.mark.parametrize("kept", ["predictions/stepreel-*", "measures/kendall-*"])
def test_damaged_predictions_and_figures_are_made_again(tmp_path, kept, damage, caplog):
    folder, extras = write_task(tmp_path / "set"), Extras(task_metrics=("kendall",))
    options = {"seeds": (0,), "methods": ("raw-kmeans", "stepreel")}
    first = run(folder, tmp_path, extras, **options)[0].results
    (file,) = tmp_path.glob(f"cache/{kept}")
    content = file.read_bytes()[:-40]
    file.write_bytes(content + bytes(40) if damage == "zeros" else content)
    assert run(folder, tmp_path, extras, **options)[0].results == first
    assert caplog.text.count("is damaged") == 1


def test_sweeps_keep_null_baselines_beside_learned_methods(tmp_path):
    extras = Extras(sweep_cues=True, sweep_recordings=(1, 9))
    options = {"seeds": (0,), "overrides": {**BRIEF, "key_steps.decoder": "kmeans"}}
    evaluation, problems = run(write_task(tmp_path / "set"), tmp_path, extras, **options)
    sweeps = evaluation.results.sweeps
    assert set(sweeps["recordings"]) == {"1", "all"}
    assert "there are no more" in problems.notes[0]
    for point in sweeps["recordings"].values():
        assert set(point.protocols["strict"]) == {
            "equal-split", "raw-kmeans", "paper", "stepreel",
        }  # fmt: skip
    for point in sweeps["cues"].values():  # raw k-means is always on all cues
        assert set(point.protocols["strict"]) == {"equal-split", "paper", "stepreel"}


def test_what_is_about_training_leaves_out_stepreel_where_it_trains_nothing(tmp_path):
    extras = Extras(sweep_cues=True, sweep_recordings=(1,), task_metrics=("kendall", "key-steps"))
    evaluation, problems = run(write_task(tmp_path / "set"), tmp_path, extras, seeds=(0,))
    results = evaluation.results
    for point in results.sweeps["recordings"].values():
        assert set(point.protocols["strict"]) == {"equal-split", "raw-kmeans", "paper"}
    for point in results.sweeps["cues"].values():
        assert set(point.protocols["strict"]) == {"equal-split", "paper", "stepreel"}
    for metric in ("kendall", "key-steps"):
        assert "paper" in results.task_metrics[metric].methods
        assert "stepreel" not in results.task_metrics[metric].methods
    assert problems.notes == [
        "kendall, key-steps, recordings: without stepreel, whose decoder trains nothing "
        "(--set key_steps.decoder=kmeans does)"
    ]


def test_samplers_are_compared_on_the_same_steps_beside_baselines(tmp_path):
    for number in range(2):
        rng = np.random.default_rng(number)
        labels = np.repeat(np.arange(24) % 4, 8)  # 24 steps of 2 s
        hands = np.eye(4)[labels] + 0.2 * rng.normal(size=(192, 4))
        (tmp_path / "set").mkdir(exist_ok=True)
        file = tmp_path / "set" / f"take{number}.npz"
        np.savez(file, times=np.arange(192) / 4, hands=hands, labels=labels)
    extras = Extras(task_metrics=("samplers",))
    for methods in (NULLS, ("equal-split", "paper")):  # in raw features, and in an embedding
        options = {"n_clusters": 4, "seeds": (0, 1), "methods": methods}
        results = run(tmp_path / "set", tmp_path, extras, **options)[0].results
        table = results.task_metrics["samplers"].methods
        assert list(table) == ["random", "equal-split", "algorithm-1", "nearest", "ils"]
        assert all(figures["shown"].mean <= 10 for figures in table.values())
        for figures in table.values():
            assert 50 < figures["representation"].mean <= 100
            assert figures["diversity"].mean > 0
        text = "".join(more_tables(results))
        assert "samplers: up to 10 moments per recording" in text
        assert max(map(len, text.splitlines())) <= 80
        assert Results.model_validate_json(results.to_json()) == results
    # The steps of raw features are the true ones; those that represent all show every kind.
    null = run(tmp_path / "set", tmp_path, extras, methods=NULLS, n_clusters=4)[0].results
    raw = null.task_metrics["samplers"].methods
    assert raw["ils"]["shown"].mean == raw["nearest"]["shown"].mean == 10
    assert raw["ils"]["representation"].mean > raw["random"]["representation"].mean


def test_a_setting_that_no_method_uses_is_named(tmp_path):
    folder = write_task(tmp_path / "set")
    _, problems = run(folder, tmp_path, seeds=(0,), methods=("equal-split", "stepreel"))
    assert problems.notes == ["train.epochs, train.n_chunks: no effect with the decoder auto"]
    _, problems = run(folder, tmp_path, seeds=(0,), methods=("paper", "stepreel"))
    assert problems.notes == []


def test_one_recording_is_cut_by_itself_into_at_most_k_kinds(tmp_path):
    labels = np.repeat(np.arange(12), 24)
    hands = np.eye(12)[labels] + 0.1 * np.random.default_rng(0).normal(size=(288, 12))
    times = np.arange(288) / 4
    np.savez(tmp_path / "take.npz", times=times, hands=hands, labels=labels)
    runner = MethodRunner(Store(tmp_path / "cache"))
    (task,) = DATASETS["npz"].read(Request(tmp_path, Problems()))
    evaluation = evaluate_tasks(
        {"name": "npz"}, [task], Plan(seeds=(0,)), runner, Problems(), labels_rate=4
    )
    (prediction,) = evaluation.comparisons[0].predictions["stepreel"]
    assert prediction.together[0].max() + 1 <= Plan.n_clusters == 7
    assert evaluation.results.skipped == {}
    # As `stepreel run` does without --clusters: as many kinds as there are.
    recordings = evaluation.comparisons[0].prepared.recordings
    found = runner.predict("stepreel", recordings, load_settings())
    assert 7 < found.together[0].max() + 1 <= 13


def test_one_task_that_cannot_be_scored_does_not_cost_the_others(tmp_path):
    write_task(tmp_path / "set" / "good")
    write_task(tmp_path / "set" / "empty")
    for file in (tmp_path / "set" / "empty").iterdir():
        with np.load(file) as arrays:
            np.savez(file, **{**arrays, "labels": 0 * arrays["labels"]})
    with pytest.raises(DatasetError, match="empty: no key step is labelled"):
        run(tmp_path / "set", tmp_path, methods=NULLS)
    problems = Problems(lenient=True)
    tasks = DATASETS["npz"].read(Request(tmp_path / "set", problems))
    runner = MethodRunner(Store(tmp_path / "cache"))
    plan = Plan(methods=NULLS, n_clusters=2)
    evaluation = evaluate_tasks({"name": "npz"}, tasks, plan, runner, problems, labels_rate=6)
    assert list(evaluation.results.dataset.tasks) == ["good"]
    assert len(evaluation.results.left_out) == 1


@pytest.mark.parametrize(
    ("extras", "n", "methods", "words"),
    [
        (Extras(task_metrics=("kendall",)), 1, NULLS, "needs two recordings"),
        (Extras(task_metrics=("phases",)), 1, NULLS, "needs two recordings"),
        (Extras(sweep_cues=True), 2, NULLS, "about learned methods"),
        (Extras(sweep_recordings=(1,)), 2, NULLS, "about learned methods"),
        (Extras(sweep_recordings=(1,)), 2, ("stepreel",), "none that does is compared"),
    ],
)
def test_what_cannot_be_worked_out_is_said_before_anything_is(tmp_path, extras, n, methods, words):
    with pytest.raises(DatasetError, match=words):
        run(write_task(tmp_path / "set", n=n), tmp_path, extras, methods=methods)
    assert not (tmp_path / "cache").exists()


def test_figures_that_do_not_exist_are_null_and_not_zero(tmp_path):
    extras = Extras(task_metrics=("kendall", "key-steps"))
    folder = write_task(tmp_path / "set", constant=True)
    results = run(folder, tmp_path, extras, methods=NULLS, n_clusters=1)[0].results
    kendall = results.task_metrics["kendall"].methods
    assert kendall["raw"]["tau_b"].mean is None
    assert kendall["raw"]["undefined"].mean == 2
    assert kendall["time"]["tau_b"].mean > 0.9
    assert results.task_metrics["key-steps"].methods["raw"]["diversity"].mean is None
    assert "–" in "".join(more_tables(results))
    assert Results.model_validate_json(results.to_json()) == results


def test_an_unknown_cue_in_a_setting_is_explained_once_the_data_is_known(tmp_path):
    with pytest.raises(
        DatasetError, match="feet is not among the cues; known here: all, main, hands"
    ):
        run(write_task(tmp_path / "set"), tmp_path, overrides={"embed.cues": ["feet"]})


def test_the_table_shows_every_figure_of_every_protocol(tmp_path):
    results = run(write_task(tmp_path / "set"), tmp_path, methods=NULLS)[0].results
    text = protocol_tables(results.protocols)
    for word in ("egoprocel-pooled", "strict-per-video", "F1@25", "MoF", "Edit"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_table_of_storyboards_shows_every_measure_and_fits_a_terminal(tmp_path):
    results = run(write_task(tmp_path / "set"), tmp_path, methods=NULLS)[0].results
    text = storyboard_tables(results.storyboard)
    for word in ("coverage", "within 1 s", "within 2 s", "within 5 %", "random", "shown", "true"):
        assert word in text
    for title in ("every recording clustered by itself", "all recordings of a task clustered"):
        assert f"{title}" in text
    assert max(map(len, text.splitlines())) <= 80
    own = results.storyboard.coverage["equal-split"]
    numbers = [own.f1, own.precision, own.recall, *(null.f1 for null in own.nulls.values())]
    cells = [f"{number.mean:.1f}" for number in (*numbers, own.n_shown, own.n_true)]
    first = next(line for line in text.splitlines() if line.startswith("  equal-split"))
    assert first.split() == ["equal-split", *cells]
    only = storyboard_tables(results.storyboard, ["coverage"])
    assert "borders-1s" not in only
    many = own.model_copy(update={"n_shown": own.n_shown.model_copy(update={"mean": 10795.7})})
    wide = results.storyboard.model_copy(update={"coverage": {"random": many}})
    rows = [line.split() for line in storyboard_tables(wide, ["coverage"]).splitlines()]
    assert next(row for row in rows if row[:1] == ["random"])[-2:] == ["10795.7", cells[-1]]
    left_out = results.storyboard.model_copy(update={"left_out": 2})
    assert "no key step is labelled: 2" in storyboard_tables(left_out)


def test_a_cache_that_cannot_be_written_is_no_reason_to_skip_a_method(tmp_path):
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(StoreError, match="cache"):
        run(write_task(tmp_path / "set"), tmp_path)


def test_task_metrics_are_kept_and_read_back(tmp_path, monkeypatch):
    folder = write_task(tmp_path / "set", n=5)
    extras = Extras(task_metrics=("phases", "kendall", "key-steps"))
    first = run(folder, tmp_path, extras, methods=NULLS)[0].results
    for name in extras.task_metrics:
        monkeypatch.setitem(TASK_METRICS, name, None)  # nothing to work it out with
    again = run(folder, tmp_path, extras, methods=NULLS)[0].results
    assert again.task_metrics == first.task_metrics
    with pytest.raises(TypeError):  # other labels are other data
        run(write_task(tmp_path / "other" / "set", n=5, shuffle=True), tmp_path, extras)


def test_predictions_of_an_earlier_evaluation_do_not_stay(tmp_path):
    for name in ("Tea", "coffee"):
        write_task(tmp_path / "sets" / name)
    evaluation, _ = run(tmp_path / "sets", tmp_path, methods=NULLS)
    write_evaluation(tmp_path / "out", evaluation)
    (tmp_path / "out" / "predictions" / "mine.npz").write_bytes(b"kept")
    evaluation, _ = run(tmp_path / "sets" / "Tea", tmp_path, methods=NULLS)
    write_evaluation(tmp_path / "out", evaluation)
    there = sorted(path.name for path in (tmp_path / "out" / "predictions").iterdir())
    assert there == ["Tea.npz", "mine.npz"]
