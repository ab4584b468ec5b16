"""A good and a damaged file of every kind; `python benchmarks/fuzz.py` tries thousands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz_faults import READERS, faulty_formats

from stepreel.system.checked_arrays import CheckedArrays

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc")


def test_a_good_and_a_damaged_file_of_every_kind_are_read_or_refused(tmp_path):
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "fuzz.py", "--cases", "76", "--keep", tmp_path / "failed"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    tried, read, refused, failed = map(int, re.findall(r"\d+", done.stdout.splitlines()[-1]))
    assert (tried, failed) == (76, 0)
    assert read >= 37  # the undamaged file of every kind
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


def test_a_cache_that_trusts_what_is_damaged_is_found(tmp_path, monkeypatch):
    from fuzz_cache import cache_kinds, make_good_cache
    from fuzz_formats import _make_videos

    def unchecked(file, start, stop):
        return memoryview(file.path.read_bytes())[file.offset + start : file.offset + stop]

    def read(kind, folder):
        place, _, read = kinds[kind]
        folder.mkdir()
        content = bytearray((tmp_path / place).read_bytes())
        content[-20] ^= 64
        (folder / "file").write_bytes(content)
        read(folder / "file")

    _make_videos(tmp_path)
    make_good_cache(tmp_path)
    kinds = {kind: form for kind, *form in cache_kinds(tmp_path)}
    read("cache previews", tmp_path / "checked")
    monkeypatch.setattr(CheckedArrays, "_bytes", unchecked)
    with pytest.raises(AssertionError, match="the result differs"):
        read("cache previews", tmp_path / "unchecked")
