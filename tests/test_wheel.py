"""What is built is complete: a wheel, unpacked outside the tree, does the job by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from videos import busy_task, steady, write_video

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_presets_templates_and_licence_are_inside(unpacked):
    assert (unpacked / "stepreel" / "presets" / "quick.toml").exists()
    source = ROOT / "src" / "stepreel" / "report" / "templates"
    for template in source.iterdir():
        assert (unpacked / "stepreel" / "report" / "templates" / template.name).exists()
    assert list(unpacked.glob("stepreel-*.dist-info/licenses/LICENSE"))


def test_the_unpacked_wheel_writes_a_storyboard(unpacked, tmp_path):
    video = write_video(tmp_path / "take.mp4", steady(90), busy_task())
    code = (
        f"import sys; sys.path.insert(0, {str(unpacked)!r}); import stepreel;"
        f"assert stepreel.__file__.startswith({str(unpacked)!r}), stepreel.__file__;"
        "from stepreel.cli import main; main()"
    )
    options = ["--set", "extract.cues=motion"]
    done = subprocess.run(
        [sys.executable, "-c", code, "run", str(video), "-o", str(tmp_path / "out"), *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "take" / "storyboard.html").stat().st_size > 10_000
