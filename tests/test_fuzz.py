"""Fifty damaged files of all kinds; `python benchmarks/fuzz.py` tries thousands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz_faults import READERS, faulty_formats

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc")


def test_fifty_damaged_files_are_read_or_refused(tmp_path):
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "fuzz.py", "--cases", "50", "--keep", tmp_path / "failed"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    tried, read, refused, failed = map(int, re.findall(r"\d+", done.stdout.splitlines()[-1]))
    assert (tried, failed) == (50, 0)
    assert read >= 25  # the undamaged file of every kind
    assert refused > 0


def test_errors_hangs_growth_and_crashes_are_found(tmp_path):
    from fuzz import Case, Limits, run_cases

    (tmp_path / "file").write_bytes(b"content")
    cases = (Case(kind, seed=0, number=1) for kind in [*READERS, "good"])
    outcomes = run_cases(
        cases,
        list(READERS),
        tmp_path,
        workers=1,
        limits=Limits(seconds=20, megabytes=500),
        make_formats=faulty_formats,
    )
    counts = {kind: dict(counter) for kind, counter in outcomes.counts.items()}
    assert counts == {
        "good": {"read": 2},
        "refuse": {"refused": 1},
        **{kind: {"failed": 1} for kind in ("error", "hang", "grow", "end")},
    }
    reasons = {case.kind: reason for case, reason in outcomes.failures}
    assert "KeyError: 'an error of the program'" in reasons["error"]
    assert reasons["hang"] == "took more than 20 s"
    assert reasons["grow"].startswith("grew by 3")
    assert reasons["end"] == "the process ended with 7"
