from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from cli.commands import stepreel

from stepreel.errors import PluginError
from stepreel.evaluation.datasets import catalog
from stepreel.evaluation.datasets.base import DatasetFormat, Request
from stepreel.evaluation.truth.annotation import Problems
from stepreel.system.registry import Registry, must_be

PLUGIN = '''\
from functools import partial

from stepreel.evaluation.datasets.base import DatasetFormat, LabelledRecording, LabelledTask
from stepreel.evaluation.truth.label_files import read_label_file
from stepreel.evaluation.truth.rows import build_annotation
from stepreel.evaluation.truth.step_list import StepList
from stepreel.features.feature_files import read_features


def read(request):
    """Read NAME.npy (one row of features per frame) and NAME.csv (start_s,end_s,N step name)."""
    steps, recordings = StepList(), []
    for path in sorted(request.root.glob("*.npy")):
        labels = path.with_suffix(".csv")
        rows = read_label_file(labels).rows
        annotation = build_annotation(labels, rows, steps, request.problems)
        features = partial(read_features, path, cues=request.cues, fps=request.fps or 2.0)
        recordings.append(LabelledRecording(path.stem, annotation, features=features))
    return [LabelledTask(request.root.name, tuple(recordings), steps.names)]


FORMAT = DatasetFormat(read, "Our bench", "our lab", "NAME.npy, NAME.csv", api_version=1)
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Install a package with a dataset that works and one for another version."""
    folder = tmp_path / "installed"
    metadata = folder / "our_bench-1.2.dist-info"
    metadata.mkdir(parents=True)
    (folder / "our_bench.py").write_text(PLUGIN)
    (folder / "our_old_bench.py").write_text(PLUGIN.replace(", api_version=1", ""))
    (metadata / "METADATA").write_text("Name: our-bench\nVersion: 1.2\n")
    (metadata / "entry_points.txt").write_text(
        "[stepreel.datasets]\nbench = our_bench:FORMAT\nold-bench = our_old_bench:FORMAT\n"
    )
    return folder


@pytest.fixture
def datasets(package: Path, monkeypatch: pytest.MonkeyPatch) -> Registry[DatasetFormat]:
    """Look for installed packages again."""
    monkeypatch.syspath_prepend(package)
    return Registry("stepreel.datasets", catalog.DATASETS.own, check=must_be(DatasetFormat))


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    folder = tmp_path / "bench"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in ["a", "b"]:
        np.save(folder / f"{name}.npy", rng.normal(size=(20, 3)))
        (folder / f"{name}.csv").write_text("1,4,1 cut\n5,9,2 sew\n")
    return folder


def test_a_dataset_of_another_package_is_read_like_our_own(
    datasets: Registry[DatasetFormat], bench: Path
) -> None:
    assert list(datasets)[-2:] == ["bench", "old-bench"]
    (task,) = datasets["bench"].read(Request(bench, Problems()))
    assert (task.name, task.step_names) == ("bench", {1: "cut", 2: "sew"})
    recording = task.recordings[0]
    assert recording.features is not None
    times = recording.features().times
    assert (
        recording.annotation.labels_at(times).tolist()
        == [0] * 2 + [1] * 6 + [0] * 2 + [2] * 8 + [0] * 2
    )


def test_a_dataset_of_another_package_is_evaluated_from_the_command_line(
    package: Path, bench: Path, tmp_path: Path
) -> None:
    path = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
    options = ["--baselines-only", "--seeds", "1", "-k", "2", "-o", tmp_path / "results"]
    done = stepreel("evaluate", "bench", bench, *options, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert "bench: 2 recordings scored" in done.stdout


def test_a_dataset_for_another_version_names_its_package_and_what_is_expected(
    datasets: Registry[DatasetFormat],
) -> None:
    with pytest.raises(PluginError, match=r"our-bench 1\.2.*expects api_version = 1"):
        datasets["old-bench"]
    assert "bench" in datasets.usable()
    assert "old-bench" not in datasets.usable()


def test_built_in_datasets_need_no_entry_point() -> None:
    assert {"npz", "videos", "egoprocel", "crosstask", "jigsaws"} <= set(catalog.DATASETS.own)
