"""After a crash at any failpoint, a rerun gives the same result as an uninterrupted run."""

from __future__ import annotations

import pytest
from videos import busy_task, steady, write_video

from cli.commands import stepreel

SETTINGS = ["-k", "3", "--decoder", "kmeans"]
SETTINGS += ["--set", "train.epochs=8", "--set", "train.n_chunks=16"]
SETTINGS += ["--set", "extract.shard_seconds=4", "--set", "train.checkpoint_seconds=0"]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    video = write_video(folder / "take.mp4", steady(360), busy_task())
    done = stepreel("run", video, "-o", folder / "out", *SETTINGS, cache=folder / "cache")
    assert done.returncode == 0, done.stderr
    return video, (folder / "out" / "take" / "storyboard.json").read_text()


@pytest.mark.parametrize("failpoint", ["mid-extraction", "between-cues", "mid-epoch"])
def test_a_rerun_after_a_crash_gives_the_same_result(uninterrupted, tmp_path, failpoint):
    video, expected = uninterrupted
    # As deep in the file system as the uninterrupted run's output, so that relative paths agree.
    output = video.parent / f"crash-{failpoint}"
    arguments = ["run", video, "-o", output, *SETTINGS]
    crashed = stepreel(*arguments, cache=tmp_path, STEPREEL_FAILPOINT=failpoint)
    assert crashed.returncode in (-9, 137)
    assert not list(output.rglob("storyboard.*"))
    kept = {p.suffix for p in tmp_path.rglob("*") if p.is_file()}
    assert ".safetensors" in kept  # there is something to resume from
    assert bool(list(tmp_path.glob("models/*.safetensors"))) == (failpoint == "mid-epoch")
    rerun = stepreel(*arguments, cache=tmp_path)
    assert rerun.returncode == 0, rerun.stderr
    assert (output / "take" / "storyboard.json").read_text() == expected
