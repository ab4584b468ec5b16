"""The whole pipeline with default settings, as in `make demo`."""

from __future__ import annotations

import re

import pytest

from cli.commands import stepreel


@pytest.mark.slow
def test_the_demo_finds_the_steps_of_the_sample_better_than_equal_parts(tmp_path):
    done = stepreel("demo", "-o", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    assert "hammer nails" in done.stdout
    assert "how steps were found: Borders were placed where the recording changes" in done.stdout
    assert "learning" not in done.stderr
    rows = re.findall(r"^   (\S.{37}) +(\d+\.\d) +(\d+\.\d)$", done.stdout, re.MULTILINE)
    assert len(rows) == 4
    for name, ours, equal_parts in rows:
        if name.startswith("every step, once"):  # all are shown; so are pauses, as by equal parts
            assert float(equal_parts) <= float(ours)
        else:
            assert float(equal_parts) < float(ours) <= 100, name
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
