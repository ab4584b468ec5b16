"""The plug-ins of docs/extend.md, installed as a real little package and used from the commands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from videos import busy_task, steady, write_video

DOCS = Path(__file__).parents[1] / "docs" / "extend.md"
BRIEF = ["--set", "train.epochs=3", "--set", "train.n_chunks=16"]
PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "my-package"
version = "0.1.0"
"""
# Beside the examples: everything that can be wrong with a plug-in.
ODD_CODE = """\
from stepreel.plugins import DatasetFormat, Decoded, Decoder, Export, Method, Sampler


class MisnamedCue:
    api_version = 1
    name = "appearance"


class HalfCue:
    api_version = 1
    name = "half"

    def settings(self):
        return {}

    def prepare(self, folder):
        pass

    def extract(self, moments):
        return {"features": [[0.0]] * len(moments)}


class BareObject:
    api_version = 1


FAILING_DATASET = DatasetFormat(lambda request: 1 / 0, "Failing", "a", "b", api_version=1)
EMPTY_DATASET = DatasetFormat(lambda request: None, "Empty", "a", "b", api_version=1)
LATER = Method(lambda recordings, run: None, title="Later", api_version=99)
WEIRD = Method(lambda recordings, run: None, kind="weird", api_version=1)
RAISING = Method(lambda recordings, run: 1 / 0, api_version=1)
FAILING_DECODER = Decoder(lambda takes: 1 / 0, api_version=1)
SHORT_DECODER = Decoder(lambda takes: Decoded([]), api_version=1)
GREEDY_SAMPLER = Sampler(lambda candidates: range(3), shows="three", api_version=1)
RAISING_SAMPLER = Sampler(lambda candidates: 1 / 0, shows="none", api_version=1)
BINARY = Export("steps.bin", lambda board: bytes(len(board.steps)), api_version=1)
FAILING = Export("failing.txt", lambda board: board.nothing_like_this, api_version=1)
"""
ODD_POINTS = {
    "stepreel.cues": {
        "broken": "missing:Cue",
        "exiting": "exiting:Cue",
        "misnamed": "odd:MisnamedCue",
        "half": "odd:HalfCue",
    },
    "stepreel.datasets": {
        "failing": "odd:FAILING_DATASET",
        "empty": "odd:EMPTY_DATASET",
        "bare": "odd:BareObject",
    },
    "stepreel.methods": {
        "later": "odd:LATER",
        "weird": "odd:WEIRD",
        "raising": "odd:RAISING",
        "bare": "odd:BareObject",
    },
    "stepreel.decoders": {
        "failing": "odd:FAILING_DECODER",
        "short": "odd:SHORT_DECODER",
        "bare": "odd:BareObject",
    },
    "stepreel.samplers": {
        "greedy": "odd:GREEDY_SAMPLER",
        "raising-sampler": "odd:RAISING_SAMPLER",
        "bare": "odd:BareObject",
    },
    "stepreel.exports": {"binary": "odd:BINARY", "failing": "odd:FAILING"},
}


def examples():
    """Return the files that docs/extend.md shows, and its entry points by group."""
    text = DOCS.read_text(encoding="utf-8")
    files = re.findall(r"`my_package/(\w+\.py)`.*?```python\n(.*?)```", text, re.DOTALL)
    points = re.findall(r'```toml\n\[project\.entry-points\."(.*?)"\]\n(.*?)```', text, re.DOTALL)
    return dict(files), dict(points)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Install the package into a folder of its own, as pip does, without any download."""
    folder, source = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("source")
    files, points = examples()
    package = source / "my_package"
    package.mkdir()
    odd = {"__init__.py": "", "odd.py": ODD_CODE, "exiting.py": "raise SystemExit(3)\n"}
    for name, code in {**odd, **files}.items():
        (package / name).write_text(code)
    tables = []
    for group, lines in points.items():
        odd_lines = [f'{name} = "my_package.{at}"\n' for name, at in ODD_POINTS[group].items()]
        tables.append(f'[project.entry-points."{group}"]\n{lines}{"".join(odd_lines)}')
    (source / "pyproject.toml").write_text("\n".join([PROJECT, *tables]))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    options = ["--no-build-isolation", "--no-index", "--target", str(folder), str(source)]
    subprocess.run([*command, *options], check=True, capture_output=True)
    return folder


@pytest.fixture
def stepreel(site, shared_network_cache):
    def run(*arguments):
        path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            [sys.executable, "-m", "stepreel", *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture
def kitchen(tmp_path):
    """Write what the example dataset reads: features, and lines of start, end, step."""
    folder = tmp_path / "kitchen"
    folder.mkdir()
    for number in range(2):
        rng = np.random.default_rng(number)
        hands = np.repeat([[0.0, 1.0], [1.0, 0.0]], 20, axis=0) + 0.1 * rng.normal(size=(40, 2))
        np.savez(folder / f"take{number}.npz", times=np.arange(40) / 4, hands=hands)
        (folder / f"take{number}.csv").write_text("0,5,1\n5,10,2\n")
    return folder


def test_the_docs_have_an_example_of_every_kind_and_each_is_short():
    files, points = examples()
    assert sorted(points) == [
        "stepreel.cues",
        "stepreel.datasets",
        "stepreel.decoders",
        "stepreel.exports",
        "stepreel.methods",
        "stepreel.samplers",
    ]
    for name, code in files.items():
        assert len([line for line in code.splitlines() if line.strip()]) <= 20, name


def test_info_lists_plugins_with_their_origin_and_what_is_wrong_with_them(stepreel):
    done = stepreel("info")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    for name in ("colour", "levels", "spread", "kitchen", "mixture", "audacity", "binary"):
        assert f"{name} (my-package 0.1.0)" in text
    assert "broken (my-package 0.1.0): ModuleNotFoundError" in text
    assert "exiting (my-package 0.1.0): SystemExit" in text
    assert "later (my-package 0.1.0): it has api_version 99; this stepreel expects" in text
    assert "weird (my-package 0.1.0): its kind is 'weird'; expected one of blind" in text
    assert text.count("bare (my-package 0.1.0): it is of type type; expected ") == 4


def test_a_cue_and_exports_of_a_package_serve_run(stepreel, tmp_path):
    video = write_video(tmp_path / "take.mp4", steady(90), busy_task())
    options = ["-k", 2, "--set", "extract.cues=colour,motion"]
    done = stepreel("run", video, "-o", tmp_path / "out", *options)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "out" / "take"
    steps = json.loads((folder / "storyboard.json").read_text())["steps"]
    lines = (folder / "labels-audacity.txt").read_text().splitlines()
    assert [line.split("\t")[2] for line in lines] == [step["title"] for step in steps]
    assert (folder / "steps.bin").read_bytes() == bytes(len(steps))
    assert not (folder / "failing.txt").exists()
    assert "failing" in done.stderr  # named, and nothing else disturbed
    assert (folder / "storyboard.html").exists()
    model = json.loads((tmp_path / "out" / "model" / "model.json").read_text())
    assert list(model["cues"]) == ["colour", "motion"]


@pytest.mark.parametrize(
    ("cue", "reason"),
    [
        ("broken", "broken, from the package my-package 0.1.0, cannot be used"),
        ("misnamed", "the cue misnamed calls itself 'appearance'"),
        ("half", "take.mp4: the cue half failed at 0.0 s (ValueError: it returned features; exp"),
    ],
)
def test_a_cue_that_cannot_be_used_is_refused_by_name_and_reason(stepreel, tmp_path, cue, reason):
    video = write_video(tmp_path / "take.mp4", steady(30), busy_task())
    done = stepreel("run", video, "-o", tmp_path / "out", "--set", f"extract.cues={cue}")
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_a_decoder_of_a_package_serves_run_and_evaluate(stepreel, kitchen, tmp_path):
    takes = sorted(kitchen.glob("*.npz"))
    options = ["-k", 2, "--decoder", "levels"]
    done = stepreel("run", *takes, "-o", tmp_path / "out", *options)
    assert done.returncode == 0, done.stderr
    board = json.loads((tmp_path / "out" / "take0" / "storyboard.json").read_text())
    assert board["settings"]["key_steps"]["decoder"] == "levels"
    assert not (tmp_path / "out" / "model").exists()  # nothing finds its kinds again
    options = ["-k", 2, "--seeds", 1, "--methods", "stepreel", "--set", "key_steps.decoder=levels"]
    done = stepreel("evaluate", "kitchen", kitchen, *options, "-o", tmp_path / "scores")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("decoder", "reason"),
    [
        ("failing", "the decoder failing failed (ZeroDivisionError: division by zero)"),
        ("short", "short: returned 0 clusterings; expected one for each of 2 recordings"),
        ("bare", "bare, from the package my-package 0.1.0, cannot be used"),
        ("levls", "known: kmeans, hmm"),
    ],
)
def test_a_decoder_that_cannot_be_used_is_refused_by_name_and_reason(
    stepreel, kitchen, tmp_path, decoder, reason
):
    takes = sorted(kitchen.glob("*.npz"))
    done = stepreel("run", *takes, "-o", tmp_path / "out", "--decoder", decoder)
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_a_sampler_of_a_package_serves_run(stepreel, kitchen, tmp_path):
    takes = sorted(kitchen.glob("*.npz"))
    options = ["-k", 2, "--top", 1, "--sample", "spread"]
    done = stepreel("run", *takes, "-o", tmp_path / "out", *options)
    assert done.returncode == 0, done.stderr
    board = json.loads((tmp_path / "out" / "take0" / "storyboard.json").read_text())
    assert len(board["steps"]) == 1
    assert "are shown, those at equal distances in time, because at most 1" in board["notes"][0]


@pytest.mark.parametrize(
    ("sampler", "reason"),
    [
        ("raising-sampler", "the sampler raising-sampler failed (ZeroDivisionError: division by"),
        ("greedy", "greedy: chose the segments [0, 1, 2]; expected each once, and numbers from 0"),
        ("bare", "bare, from the package my-package 0.1.0, cannot be used"),
        ("sprad", "unknown sampler 'sprad' (--sample, key_steps.sample); known: algorithm-1, near"),
    ],
)
def test_a_sampler_that_cannot_be_used_is_refused_by_name_and_reason(
    stepreel, kitchen, tmp_path, sampler, reason
):
    takes = sorted(kitchen.glob("*.npz"))
    options = ["-k", 2, "--top", 1, "--sample", sampler]
    done = stepreel("run", *takes, "-o", tmp_path / "out", *options)
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("dataset", "reason"),
    [
        ("failing", "the reader of Failing failed (ZeroDivisionError"),
        ("empty", "the reader of Empty returned no list of LabelledTask"),
        ("bare", "bare, from the package my-package 0.1.0, cannot be used"),
    ],
)
def test_a_dataset_that_cannot_be_used_is_refused_by_name_and_reason(
    stepreel, kitchen, dataset, reason
):
    done = stepreel("evaluate", dataset, kitchen, "--baselines-only")
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_a_method_whose_code_changed_is_run_again(stepreel, kitchen, site, tmp_path):
    options = ["-k", 2, "--seeds", 1, "--methods", "mixture", "-o", tmp_path / "out"]
    figures = []
    module = site / "my_package" / "mixture.py"
    code = module.read_text()
    for text in (code, code.replace("return np.split(labels", "return np.split(0 * labels")):
        module.write_text(text)
        done = stepreel("evaluate", "kitchen", kitchen, *options)
        assert done.returncode == 0, done.stderr
        results = json.loads((tmp_path / "out" / "results.json").read_text())
        figures.append(results["protocols"]["strict"]["mixture"]["f1"]["mean"])
    module.write_text(code)
    assert figures[0] > 95 > 70 > figures[1]


def test_a_cue_whose_code_changed_is_extracted_and_learned_again(stepreel, site, tmp_path):
    video = write_video(tmp_path / "take.mp4", steady(90), busy_task())
    options = ["-k", 2, "--decoder", "kmeans", "--set", "extract.cues=colour", *BRIEF]
    module = site / "my_package" / "cue.py"
    code = module.read_text()
    losses = []
    changed = code.replace('"features": ', '"features": 0 * ')
    assert changed != code
    for text in (code, changed, code):
        module.write_text(text)
        done = stepreel("run", video, "-o", tmp_path / "out", *options)
        assert done.returncode == 0, done.stderr
        model = json.loads((tmp_path / "out" / "model" / "model.json").read_text())
        losses.append(model["loss"])
    assert losses[0] == losses[2] != losses[1]


def test_a_dataset_and_a_method_of_a_package_serve_evaluate(stepreel, kitchen, tmp_path):
    options = ["-k", 2, "--seeds", 1, "-o", tmp_path / "out", *BRIEF]
    done = stepreel("evaluate", "kitchen", kitchen, *options)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    strict = results["protocols"]["strict"]
    assert strict["equal-split"]["f1"]["mean"] == 100
    assert strict["mixture"]["f1"]["mean"] > 95
    assert results["method_kinds"]["mixture"] == "other"
    assert "api_version 99" in results["skipped"]["later"]
    assert "expected Method" in results["skipped"]["bare"]
    assert results["skipped"]["raising"] == "ZeroDivisionError: division by zero"
    assert "later" in done.stdout


def test_a_method_can_be_asked_for_by_name(stepreel, kitchen, tmp_path):
    options = ["-k", 2, "--seeds", 1, "-o", tmp_path / "out", "--methods", "random,mixture"]
    done = stepreel("evaluate", "kitchen", kitchen, *options)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert list(results["protocols"]["strict"]) == ["random", "mixture"]
    done = stepreel("evaluate", "kitchen", kitchen, "--methods", "mixtrue")
    assert done.returncode == 2
    assert "mixture" in done.stderr  # among the known ones
