"""The whole pipeline with default settings, as in `make demo`."""

from __future__ import annotations

import re

import pytest

from cli.commands import stepreel


@pytest.mark.slow
def test_the_demo_finds_the_steps_of_the_sample_better_than_an_equal_split(tmp_path):
    done = stepreel("demo", "-o", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    assert "hammer nails" in done.stdout
    scores = {
        name: float(re.search(rf"{name} +(\d+\.\d)", done.stdout)[1])
        for name in ("equal split", "stepreel", "ceiling")
    }
    assert scores["equal split"] < scores["stepreel"] < scores["ceiling"]
    page = tmp_path / "demo" / "work-bench" / "storyboard.html"
    assert str(page) in done.stdout
    assert page.exists()
    sample = tmp_path / "demo" / "sample-0"
    assert sorted(p.name for p in sample.iterdir()) == [
        "work-bench.gaze.csv",
        "work-bench.mp4",
        "work-bench.steps.csv",
    ]
    # The second run finds everything in the cache.
    second = stepreel("demo", "-o", tmp_path / "demo")
    assert second.stdout == done.stdout
