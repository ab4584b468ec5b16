from __future__ import annotations

import os
from pathlib import Path

import pytest
from limits import HANG_SECONDS, run_limited, within

from stepreel.system.files import open_regular, read_regular
from stepreel.system.machine import check_memory, free_memory
from stepreel.system.names import safe_name


def test_pipes_devices_and_folders_are_refused_before_they_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    for name, what in (
        ("pipe", "pipe or a device"),
        ("zeros", "pipe or a device"),
        (".", "folder"),
    ):
        for read in (open_regular, read_regular):
            with within(HANG_SECONDS), pytest.raises(OSError, match=what):
                read(tmp_path / name)


def test_a_file_that_does_not_fit_into_the_free_memory_is_refused(tmp_path):
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(10**13)  # takes no space on the disk
    with pytest.raises(OSError, match=r"it needs 30000\.0 GB of memory, and .* GB are free"):
        read_regular(tmp_path / "huge")


def test_free_memory_follows_the_limit_of_the_process():
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    free = free_memory()
    assert free is not None
    assert 0 < free <= total
    check_memory(0)
    with pytest.raises(OSError, match="are free"):
        check_memory(2 * total)
    code = "from stepreel.system.machine import free_memory; print(free_memory())"
    done = run_limited(code, gigabytes=0.5)
    assert 0 < int(done.stdout) < 5e8, done.stderr


@pytest.mark.parametrize("device", ["COM¹", "com²", "LPT³", "COM1", "lpt9", "CON", "COM¹.take"])
def test_names_of_devices_on_windows_are_not_used(device):
    assert safe_name(device) == f"{device}-recording"


@pytest.mark.parametrize("letter", ["a", "ü", "漢", "𝒳"])
def test_a_name_leaves_room_for_suffixes_in_every_alphabet(tmp_path, letter):
    name = safe_name(letter * 300)
    assert set(name) == {letter}
    (tmp_path / f"{name}-recording-100.embedding.npz").write_bytes(b"")
    assert len(Path(name).name) <= 80
