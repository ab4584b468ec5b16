"""An output folder of one video, whose cache is gone."""

from __future__ import annotations

import shutil

import pytest
from videos import busy_task, steady, write_video

from stepreel import pipeline
from stepreel.system.store import Store

OVERRIDES = {"extract.cues": ["motion"], "key_steps.min_step_seconds": 0.5}


@pytest.fixture(scope="module")
def video_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("video")
    path = write_video(folder / "take.mp4", steady(60), busy_task(0))
    pipeline.run([path], Store(folder / "cache"), overrides=OVERRIDES, output=folder / "out")
    shutil.rmtree(folder / "cache")
    return folder


@pytest.fixture
def take(video_run, tmp_path):
    shutil.copytree(video_run, tmp_path / "copy")
    return tmp_path / "copy" / "out" / "take"
