"""Methods that other packages add: they take part by default, and disturb nothing."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from cli.commands import stepreel

from stepreel.evaluation.methods.catalog import METHODS
from stepreel.evaluation.results import read_results
from stepreel.evaluation.run import evaluate

MODULE = """
import numpy as np

from stepreel.evaluation.methods.base import Method, Prediction

CALLS = []


def predict(recordings, run):
    CALLS.append(run.seed)

    def label(some):
        speeds = [np.abs(np.gradient(r.tracks["hands"].features, axis=0)).sum(1) for r in some]
        edges = np.quantile(np.concatenate(speeds), np.linspace(0, 1, run.n_clusters + 1))
        return [np.searchsorted(edges[1:-1], speed) for speed in speeds]

    return Prediction.from_labelling(label, recordings)


def fail(recordings, run):
    raise RuntimeError("out of luck")


def stray(recordings, run):
    labels = [np.full(len(r.times), 99) for r in recordings]
    return Prediction(labels, labels)


def halves(recordings, run):
    return Prediction.from_labelling(
        lambda some: [np.arange(len(r)) * 2 // len(r) for r in some], recordings
    )


SPEED = Method(predict, title="clusters of speed", api_version=1)
FAILING = Method(fail, kind="learned", api_version=1)
STRAY = Method(stray, api_version=1)
BLIND = Method(halves, kind="blind", title="two halves", uses_seed=False, api_version=1)
OLD = Method(predict)
"""
POINTS = """[stepreel.methods]
speed = speedy:SPEED
failing = speedy:FAILING
stray = speedy:STRAY
halves = speedy:BLIND
old = speedy:OLD
missing = speedy_extra:METHOD
"""


def install(folder, *, version="1.0", points=POINTS):
    """Put a package with entry points where Python finds installed ones."""
    folder.mkdir(exist_ok=True)
    (folder / "speedy.py").write_text(MODULE)
    for earlier in folder.glob("*.dist-info"):
        earlier.rename(folder / f"speedy-{version}.dist-info")
    info = folder / f"speedy-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: speedy\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(points)
    return folder


def forget_plugins():
    METHODS.__dict__.pop("_plugins", None)
    METHODS._loaded.clear()
    METHODS._problems.clear()
    sys.modules.pop("speedy", None)


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    folder = install(tmp_path / "site")
    monkeypatch.syspath_prepend(str(folder))
    forget_plugins()
    yield folder
    monkeypatch.undo()
    forget_plugins()


@pytest.fixture
def takes(tmp_path):
    folder = tmp_path / "takes"
    folder.mkdir()
    for number in range(2):
        rng = np.random.default_rng(number)
        labels = np.repeat([0, 1, 2], [6, 10, 12])
        hands = np.cumsum(rng.normal(size=(28, 3)) * (1 + labels[:, None]), axis=0)
        np.savez(folder / f"take{number}.npz", times=np.arange(28) / 4, hands=hands, labels=labels)
    return folder


def run(takes, tmp_path, **options):
    options = {"clusters": 2, "seeds": 2, "cache": tmp_path / "cache", **options}
    return evaluate("npz", takes, train__epochs=1, train__n_chunks=8, **options)


def test_plugins_take_part_and_broken_ones_are_skipped_with_their_reasons(plugins, takes, tmp_path):
    results = run(takes, tmp_path)
    assert set(results.protocols["strict"]) == {*METHODS.own, "speed", "halves"}
    assert results.method_kinds["speed"] == "other"
    assert results.method_kinds["halves"] == "blind"
    assert results.settings.methods["speed"] == "clusters of speed (speedy 1.0)"
    assert results.skipped["failing"] == "RuntimeError: out of luck"
    assert "expected whole numbers from 0 to 1" in results.skipped["stray"]
    assert "has no api_version" in results.skipped["old"]
    assert "No module named 'speedy_extra'" in results.skipped["missing"]


def test_a_plugin_is_chosen_by_name_and_blind_ones_are_null_baselines(plugins, takes, tmp_path):
    results = run(takes, tmp_path, methods=["halves", "equal-split", "speed"])
    assert list(results.protocols["strict"]) == ["equal-split", "speed", "halves"]
    nulls = run(takes, tmp_path, baselines_only=True)
    assert "halves" in nulls.protocols["strict"]
    assert "speed" not in nulls.protocols["strict"]
    # K = 2: the same labels as an equal split.
    strict = results.protocols["strict"]
    assert strict["halves"].f1 == strict["equal-split"].f1


def test_predictions_are_kept_per_version_of_the_package(plugins, takes, tmp_path):
    import speedy

    first = run(takes, tmp_path, methods=["speed"])
    assert speedy.CALLS == [0, 1]
    assert run(takes, tmp_path, methods=["speed"]) == first
    assert speedy.CALLS == [0, 1]  # read back
    install(plugins, version="1.1")
    forget_plugins()
    run(takes, tmp_path, methods=["speed"])
    import speedy

    assert speedy.CALLS == [0, 1]  # the new version's own list: it was run


def test_the_command_and_the_page_know_plugins(plugins, takes, tmp_path):
    done = stepreel(
        "evaluate", "npz", takes, "-k", 2, "--seeds", 1, "--methods", "equal-split,speed,missing",
        "-o", tmp_path / "out", PYTHONPATH=f"{plugins}:{':'.join(sys.path)}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "missing: not run: missing, from the package speedy 1.0, cannot be used" in done.stdout
    assert "speed" in read_results(tmp_path / "out" / "results.json").protocols["strict"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "clusters of speed (speedy 1.0)" in page
    assert "added by other packages" in page
