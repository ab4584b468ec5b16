"""The public Python interface, as a cookbook: everything here is imported from `stepreel` alone."""

from __future__ import annotations

import gc
import shutil
import subprocess
import sys

import numpy as np
import pytest
from videos import busy_task, steady, write_video

import stepreel
from stepreel import find_key_steps, read_storyboard, tune

LEARN = {"key_steps__decoder": "kmeans", "train__epochs": 20, "train__n_chunks": 32}
BRIEF = {"key_steps.decoder": "kmeans", "train.epochs": 5, "extract.cues": "motion"}


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    return [
        write_video(folder / "shelf.mp4", steady(270), busy_task()),
        write_video(folder / "again.mp4", steady(250), busy_task(1)),
    ]


@pytest.fixture(scope="module")
def shelf(videos):
    return videos[0]


def hands(seed=0):
    """Make four steps of fifteen moments, four moments a second, as features in memory."""
    rng = np.random.default_rng(seed)
    features = np.repeat(np.eye(4), 15, axis=0) + 0.05 * rng.normal(size=(60, 4))
    return {"hands": (np.arange(60) / 4, features)}


# Finding key steps


def test_one_call_from_a_video_to_its_key_steps(shelf):
    result = find_key_steps(shelf)
    assert result.steps[0].time >= 0
    assert [step.index for step in result.steps] == list(range(1, len(result.steps) + 1))
    assert all(step.start <= step.time <= step.end for step in result.steps)
    assert 2 <= len(result.steps) <= 9
    assert repr(result) == f"Result('shelf.mp4', {len(result.steps)} steps, 9.0 s)"


def test_several_recordings_of_a_task_are_looked_at_together(videos):
    results = find_key_steps(videos, clusters=3)
    assert [result.recording.name for result in results] == ["shelf.mp4", "again.mp4"]
    kinds = {step.cluster for result in results for step in result.steps}
    assert kinds <= {0, 1, 2}  # the same number is the same kind of step in each of them


def test_features_of_your_own_are_a_file(tmp_path):
    times, features = hands()["hands"]
    np.savez(tmp_path / "take.npz", times=times, hands=features, gaze=features[:, :2])
    result = find_key_steps(tmp_path / "take.npz", cues="hands", clusters=4)
    assert len(result.steps) == 4
    np.save(tmp_path / "seconds.npy", times)
    np.save(tmp_path / "bare.npy", features)
    result = find_key_steps(tmp_path / "bare.npy", fps=4, clusters=4, progress=None)
    assert result.storyboard.recording.duration_seconds == 15.0
    (result,) = find_key_steps([tmp_path / "bare.npy"], times=tmp_path / "seconds.npy", clusters=4)
    assert result.storyboard.recording.duration_seconds == 15.0


def test_or_arrays_in_memory():
    result = find_key_steps(hands(), clusters=4)
    assert [round(step.start) for step in result.steps] == [0, 4, 8, 11]
    several = find_key_steps([hands(0), hands(1)], clusters=4)
    assert [s.cluster for s in several[0].steps] == [s.cluster for s in several[1].steps]


def test_what_a_result_contains():
    result = find_key_steps(hands(), clusters=4)
    assert result.times.shape == (60,)
    assert result.clustering.labels.shape == (60,)
    assert result.storyboard.steps == result.steps
    assert result.storyboard.recording.kind == "features"
    assert "Step A" in result._repr_html_()  # what a notebook shows


def test_an_embedding_is_learned_for_the_decoder_that_needs_one():
    learned = find_key_steps(hands(), clusters=4, **LEARN)
    assert learned.embedding.shape == (60, 128)
    usual = find_key_steps(hands(), clusters=4)  # nothing is learned by default
    assert usual.embedding_track is None
    with pytest.raises(stepreel.ModelError, match=r"the decoder auto needs none; .*kmeans"):
        _ = usual.embedding


def test_settings_about_training_have_no_effect_where_nothing_is_trained(caplog):
    usual = find_key_steps(hands(), clusters=4, train__epochs=20, train__seed=1)
    assert caplog.messages == [
        "train.epochs: no effect with the decoder auto; --decoder kmeans "
        "(key_steps__decoder='kmeans') uses it"
    ]
    assert usual.settings.train.epochs == 20
    caplog.clear()
    find_key_steps(hands(), clusters=4, **LEARN)
    assert caplog.messages == []


def test_the_timeline_covers_the_recording_without_gap_or_overlap(shelf):
    board = find_key_steps(shelf, clusters=3).storyboard
    assert board.timeline[0].start == 0
    assert board.timeline[-1].end == board.recording.duration_seconds
    for earlier, later in zip(board.timeline, board.timeline[1:], strict=False):
        assert earlier.end == later.start


# Settings


def test_settings_can_be_changed_by_name(shelf):
    result = find_key_steps(shelf, clusters=2, top=1, seed=3, key_steps__min_step_seconds=2)
    assert len(result.steps) == 1
    assert result.storyboard.seed == 3
    assert result.settings.key_steps.min_step_seconds == 2


def test_the_cache_can_be_another_folder_or_none_at_all(shelf, tmp_path, monkeypatch):
    cached = find_key_steps(shelf, clusters=3, cache=tmp_path / "cache")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = sorted(tmp_path.rglob("*"))
    result = find_key_steps(shelf, clusters=3, cache=False)  # as --no-cache
    assert result.steps == cached.steps
    result.write(tmp_path / "out")  # its pictures are there for as long as the result
    assert (tmp_path / "out" / "storyboard.html").exists()
    del result
    shutil.rmtree(tmp_path / "out")
    model = stepreel.load_model(_trained(tmp_path))
    assert model.embed(hands(), cache=False).features.shape[0] == 60
    shutil.rmtree(tmp_path / "run")
    gc.collect()  # a busy machine may have left it for later
    assert sorted(tmp_path.rglob("*")) == before


def _trained(folder):
    find_key_steps(hands(), folder / "run", clusters=4, cache=False, **LEARN)
    return folder / "run"


def test_a_preset_can_be_looked_at():
    settings = stepreel.load_settings("meccano", {"train.epochs": 5})
    assert isinstance(settings, stepreel.Settings)
    assert (settings.train.epochs, settings.train.n_chunks) == (5, 1024)


def test_progress_is_reported_to_a_function():
    calls = []
    find_key_steps(
        hands(7), clusters=2, progress=lambda what, done, total: calls.append(what), **LEARN
    )
    assert "learning" in calls


# Writing and reading


def test_a_result_is_written_where_you_want_it(shelf, tmp_path):
    result = find_key_steps(shelf, clusters=3)
    board = result.write(tmp_path / "shelf")
    assert stepreel.read_storyboard(tmp_path / "shelf" / "storyboard.json") == board
    assert (tmp_path / "shelf" / board.steps[0].picture).read_bytes()[:2] == b"\xff\xd8"
    assert result.storyboard == board  # from now on it names its pictures


def test_a_result_that_cannot_be_written_stays_as_it_was(shelf, tmp_path):
    result = find_key_steps(shelf, clusters=3)
    (tmp_path / "shelf").write_text("a file")
    with pytest.raises(stepreel.OutputError, match="in the way"):
        result.write(tmp_path / "shelf")
    assert {step.picture for step in result.steps} == {None}


def test_steps_get_the_names_you_give_them(shelf):
    result = find_key_steps(shelf, clusters=3, titles={"A": "Open the box", 2: "Look inside"})
    assert result.steps[0].title == "Open the box"
    assert result.steps[1].title == "Look inside"


def test_a_name_that_no_recording_can_use_is_logged_once(caplog):
    results = find_key_steps([hands(), hands()], titles={"A": "Open", "Q": "?"}, clusters=4)
    assert caplog.messages == ["titles: names kind Q, found in none of the recordings"]
    assert "kind Q" not in str([result.storyboard.notes for result in results])


def test_or_below_an_output_folder_as_the_command_does(shelf, tmp_path):
    find_key_steps(shelf, tmp_path / "out", clusters=3)
    folder = tmp_path / "out" / "shelf"
    for name in ["storyboard.html", "steps.csv", "steps.md", "chapters.vtt", "chapters.ffmeta"]:
        assert (folder / name).stat().st_size > 50
    assert (tmp_path / "out" / "model" / "model.json").exists()


def test_steps_are_chosen_again_from_an_output_folder(shelf, tmp_path):
    find_key_steps(shelf, tmp_path, cache=False, extract__cues="motion")
    (fewer,) = tune(tmp_path, top=1)
    assert len(fewer.steps) == 1
    (elsewhere,) = tune(tmp_path, tmp_path / "other", clusters=2, key_steps__top=None)
    assert {step.cluster for step in elsewhere.steps} <= {0, 1}
    assert len(read_storyboard(tmp_path / "shelf" / "storyboard.json").steps) == 1


def test_features_give_a_storyboard_without_pictures(tmp_path):
    board = find_key_steps(hands(), clusters=4).write(tmp_path)
    assert {step.picture for step in board.steps} == {None}
    assert (tmp_path / "storyboard.html").stat().st_size > 10_000


# Models


def test_what_was_learned_finds_the_same_steps_in_a_later_take(shelf, tmp_path):
    result = find_key_steps(shelf, tmp_path / "out", clusters=3)
    model = stepreel.load_model(tmp_path / "out")
    assert (list(model.cues), model.n_clusters) == (["appearance", "motion"], 3)
    later = model.find_key_steps(shelf)
    assert [(s.start, s.cluster) for s in later.steps] == [
        (s.start, s.cluster) for s in result.steps
    ]
    with pytest.raises(stepreel.ModelError, match="nothing was trained for it"):
        model.embed(shelf)


def test_a_model_that_was_trained_also_embeds(shelf, tmp_path):
    result = find_key_steps(shelf, tmp_path / "out", clusters=3, **LEARN)
    model = stepreel.load_model(tmp_path / "out")
    assert (list(model.cues), model.n_clusters) == (["appearance", "motion"], 3)
    later = model.find_key_steps(shelf)
    assert [(s.start, s.cluster) for s in later.steps] == [
        (s.start, s.cluster) for s in result.steps
    ]
    track = model.embed(shelf)
    np.testing.assert_allclose(track.features, result.embedding, atol=1e-5)


def test_a_model_of_features_refuses_videos_and_the_other_way_round(shelf, tmp_path):
    find_key_steps(hands(), tmp_path / "hands", clusters=4)
    model = stepreel.load_model(tmp_path / "hands")
    with pytest.raises(ValueError, match="made from feature files with the cues hands, not from"):
        model.find_key_steps(shelf)
    with pytest.raises(ValueError, match="has 4 kinds of steps, not 5"):
        model.find_key_steps(hands(), clusters=5)
    with pytest.raises(ValueError, match=r"made from the cues hands; leave out --cues"):
        model.find_key_steps(hands(3), cues=["feet"])
    assert len(model.find_key_steps(hands(3)).steps) == 4
    with pytest.raises(stepreel.ModelError, match="contains no model"):
        stepreel.load_model(tmp_path / "nowhere")


# Measuring


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """Write two takes with true labels, and predictions for them."""
    folder = tmp_path_factory.mktemp("labelled")
    (folder / "takes").mkdir()
    (folder / "found").mkdir()
    for number in range(2):
        labels = np.repeat([0, 1, 2, 1], 12)
        arrays = {"times": np.arange(48) / 4, "labels": labels}
        np.savez(folder / "takes" / f"take{number}.npz", gaze=np.eye(3)[labels], **arrays)
        np.savez(
            folder / "found" / f"take{number}.npz",
            times=arrays["times"],
            cluster=np.repeat([-1, 0, 1, 0], [14, 10, 12, 12]),
        )
    return folder


def test_methods_are_compared_on_labelled_recordings(labelled, tmp_path):
    results = stepreel.evaluate(
        "npz",
        labelled / "takes",
        clusters=3,
        seeds=1,
        output=tmp_path / "results",
        train__epochs=5,
        train__n_chunks=16,
    )
    strict = results.protocols["strict"]
    assert strict["raw-kmeans"].f1.mean == 100
    assert strict["equal-split"].f1.mean < 100
    assert (tmp_path / "results" / "report.html").exists()


def test_methods_can_be_compared_without_a_cache(labelled, tmp_path, monkeypatch):
    monkeypatch.setenv("STEPREEL_CACHE", str(tmp_path / "usual"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    results = stepreel.evaluate(
        "npz", labelled / "takes", clusters=3, seeds=1, methods="raw-kmeans", cache=False
    )
    assert results.protocols["strict"]["raw-kmeans"].f1.mean > 0
    assert list(tmp_path.iterdir()) == []


def test_predictions_of_your_own_are_scored_beside_null_baselines(labelled):
    results = stepreel.score(labelled / "takes", labelled / "found", clusters=2)
    strict = results.protocols["strict"]
    assert 90 < strict["prediction"].f1.mean < 100
    assert strict["prediction"].f1.mean > strict["equal-split"].f1.mean


# The long form: what `stepreel run` does


def test_the_long_form_shows_every_stage(videos, tmp_path):
    from stepreel import pipeline

    store = pipeline.Store(tmp_path / "cache")
    task = pipeline.load_task(videos, store, overrides=BRIEF)  # settings, features
    learned = pipeline.learn_task(task, store)  # embeddings, clusters, the model
    results = pipeline.find_task_steps(task, learned)  # key steps, storyboards
    assert [len(result.embedding) for result in results.values()] == [36, 34]
    found = pipeline.run(videos, store, overrides=BRIEF, output=tmp_path / "out")  # all of it
    assert [s.time for s in found.results[0].steps] == [s.time for s in results[0].steps]
    assert found.written.index == tmp_path / "out" / "index.html"


# When something is wrong


def test_a_wrong_setting_is_a_value_error_that_lists_the_known_ones(shelf):
    with pytest.raises(ValueError, match=r"known here: .*epochs"):
        find_key_steps(shelf, train__epoch=3)
    with pytest.raises(stepreel.SettingsError, match="unknown preset 'ikae'"):
        find_key_steps(shelf, preset="ikae")


def test_a_source_of_another_kind_is_a_type_error():
    for source in (None, 3):
        with pytest.raises(TypeError, match="a source is a path or a dict of arrays, not"):
            find_key_steps(source)
    with pytest.raises(TypeError, match="a source is a path or a dict of arrays, not int"):
        find_key_steps([3])
    with pytest.raises(ValueError, match="no source given"):
        find_key_steps([])


def test_options_that_would_have_no_effect_are_refused(shelf):
    with pytest.raises(ValueError, match=r"\(cues=…, fps=…, times=…\) are for feature files"):
        find_key_steps(shelf, cues=["hands"])
    with pytest.raises(ValueError, match=r"\(fps=…\): -1 is not a rate; expected"):
        find_key_steps(hands(), fps=-1)
    with pytest.raises(ValueError, match=r"on_error='ignore'; expected raise or skip"):
        find_key_steps([shelf], on_error="ignore")
    with pytest.raises(ValueError, match=r"shelf\.mp4 is named twice"):
        find_key_steps([shelf, shelf])


def test_videos_and_features_do_not_mix(shelf):
    with pytest.raises(ValueError, match="from videos or from features, not from both"):
        find_key_steps([shelf, hands()])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "no arrays"),
        ({3: ([0, 1], np.eye(2))}, "3 is not a name; expected names of cues"),
        ({"hands": ([0, 1], [[1, 2], [3]])}, r"hands: not arrays .*expected times \(T,\)"),
        ({"times": ([0, 1], np.eye(2))}, "'times' cannot be the name of a cue"),
        ({"hands": np.eye(4)}, r"hands: expected a pair \(times, features\)"),
        ({"a": ([0, 1], np.eye(2)), "b": ([0, 2], np.eye(2))}, "b: its times differ from those of"),
        ({"hands": ([0, 0], np.eye(2))}, "times must be finite and increasing seconds"),
        ({"hands": ([0, 1], np.ones(2))}, "no two-dimensional array"),
        ({"hands": ([0, 1, 2], np.eye(2))}, "hands has 2 rows, but there are 3 times"),
        ({"all": ([0, 1], np.eye(2))}, "'all' cannot be the name of a cue"),
    ],
)
def test_arrays_that_cannot_be_used_are_explained(source, message):
    with pytest.raises(stepreel.RecordingError, match=message):
        find_key_steps(source)


def test_an_unreadable_recording_is_a_recording_error(tmp_path):
    with pytest.raises(stepreel.RecordingError, match=r"nowhere.mp4: does not exist"):
        find_key_steps(tmp_path / "nowhere.mp4")


def test_of_several_recordings_the_unreadable_can_be_skipped(shelf, tmp_path, caplog):
    sources = [tmp_path / "nowhere.mp4", shelf]
    with pytest.raises(stepreel.RecordingError, match=r"nowhere.mp4: does not exist"):
        find_key_steps(sources, clusters=3)
    (result,) = find_key_steps(sources, clusters=3, on_error="skip")
    assert result.recording.name == "shelf.mp4"
    assert "left out: nowhere.mp4: does not exist" in caplog.text


# Takes compared


def test_takes_of_a_task_are_compared(tmp_path):
    results = find_key_steps([hands(0), hands(1), hands(2)], tmp_path / "out", clusters=4)
    comparison = stepreel.compare_takes(tmp_path / "out", output=tmp_path / "out")
    assert [take.folder for take in comparison.takes] == [
        "recording-1",
        "recording-2",
        "recording-3",
    ]
    assert comparison.usual_order == [step.cluster for step in results[0].steps]
    assert comparison.departures == []
    assert comparison.durations[0].median == results[0].steps[0].seconds
    assert (tmp_path / "out" / "compare.html").exists()


def test_what_cannot_be_compared_is_explained(tmp_path):
    find_key_steps(hands(), tmp_path / "out", clusters=4)
    with pytest.raises(stepreel.StepreelError, match="comparing needs at least two"):
        stepreel.compare_takes(tmp_path / "out")


# The package itself


def test_the_exported_names_exist_and_are_documented():
    for name in stepreel.__all__:
        assert getattr(stepreel, name) is not None
        assert name.startswith("__") or getattr(stepreel, name).__doc__


def test_importing_the_package_loads_nothing_heavy():
    heavy = "torch cv2 av onnxruntime sklearn scipy pydantic numpy"
    code = f"import sys, stepreel; print([m for m in '{heavy}'.split() if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


SCRIPT = """
import numpy as np
from stepreel import Comparison, Result, Results, Storyboard, compare_takes, evaluate
from stepreel import find_key_steps, load_model, score

one: Result = find_key_steps("shelf.mp4", clusters=9, key_steps__decoder="kmeans")
several: list[Result] = find_key_steps(["a.mp4", "b.mp4"])
arrays: Result = find_key_steps({"hands": (np.arange(10) / 4, np.zeros((10, 3)))})
moment: float = one.steps[0].time
board: Storyboard = one.write("out/shelf")
compared: Comparison = compare_takes("out/")
sentence: str = compared.departures[0].sentence
again: Result = load_model("out").find_key_steps("later.mp4")
results: Results = evaluate("npz", "takes/", clusters=7)
f1: float = results.protocols["strict"]["paper"].f1.mean
scored: Results = score("labels/", "out/")
"""


def test_a_user_s_script_is_checked_strictly_against_our_types(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache"]
    done = subprocess.run(
        [*command, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
