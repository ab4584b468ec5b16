"""A key describes the code that runs, also if files are edited while a process runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
START = """
import importlib, sys, os
from pathlib import Path
from stepreel.errors import StoreError
from stepreel.system.source_hashes import describe_code
from stepreel.system.store import Store, write_facts, read_facts

def key():
    return describe_code("plug.cue")["source"]

def edit(name, old="1", new="2"):
    path = Path("plug", name)
    path.write_text(path.read_text().replace(old, new))
    old_time = path.with_name("__init__.py").stat()
    os.utime(path, ns=(old_time.st_atime_ns, old_time.st_mtime_ns))  # as unpacking or copying does

def entry(code):
    return Store(Path("cache")).recording_entry("0" * 32, "cue", {}, code={"source": code})
"""


@pytest.fixture
def run(tmp_path):
    """Return a function that runs code beside a plug-in, and returns the lines it prints."""
    (tmp_path / "plug").mkdir()
    (tmp_path / "plug" / "__init__.py").write_text("")
    (tmp_path / "plug" / "cue.py").write_text(
        "FACTOR = 1\ndef make():\n    import plug.late\n    return plug.late.STEP\n"
    )
    (tmp_path / "plug" / "late.py").write_text("STEP = 1\n")

    def run(code):
        done = subprocess.run(
            [sys.executable, "-B", "-c", START + code],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{SOURCE}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [*done.stdout.splitlines(), *done.stderr.splitlines()]

    return run


def test_the_key_of_loaded_code_is_not_that_of_the_edited_file(run):
    (before,) = run("import plug.cue; print(key())")
    key, again, warning = run("import plug.cue; edit('cue.py'); print(key()); print(key())")
    (after,) = run("import plug.cue; print(key())")
    assert len({before, key, after}) == 3
    assert again == key  # kept within the process
    assert "cue.py has changed since stepreel was started; results are not shared" in warning


def test_a_key_that_was_made_before_the_edit_stays(run):
    (before,) = run("import plug.cue, plug.late; print(key())")
    assert run("import plug.cue, plug.late; key(); edit('cue.py'); print(key())") == [before]


def test_code_that_is_edited_before_it_is_loaded_has_the_key_of_the_edited_file(run):
    first, second, third = run(
        """
import plug.cue
print(key())
edit("late.py")
print(key())
plug.cue.make()
print(key())
"""
    )
    assert first != second == third
    assert run("import plug.cue; print(key())") == [second]


def test_nothing_is_kept_under_a_key_of_code_that_was_edited_before_it_was_loaded(run):
    lines = run(
        """
import plug.cue
old = entry(key())
edit("late.py")
new = entry(key())
plug.cue.make()
for each in (old, new):
    try:
        write_facts(each, {"step": 2})
    except StoreError as problem:
        print(problem)
    print(read_facts(each))
"""
    )
    assert lines[0].endswith("late.py: has changed while stepreel was running; run it again")
    assert lines[1:] == ["None", "{'step': 2}"]


def test_code_that_is_loaded_again_has_another_key(run):
    first, second, third, _ = run(
        """
import plug.cue, plug.late
print(key())
edit("cue.py")
importlib.reload(plug.cue)
print(key())
importlib.reload(plug.cue)
print(key())
"""
    )[:4]
    assert len({first, second, third}) == 3


def test_many_changed_files_give_one_warning(run):
    lines = run(
        "import plug.cue, plug.late; edit('cue.py', 'FACTOR = 1'); edit('late.py'); print(key())"
    )
    assert len([line for line in lines if "has changed" in line]) == 1
