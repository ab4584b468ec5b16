from __future__ import annotations

import sys

import pytest

from stepreel.errors import StepreelError
from stepreel.system import machine


def test_room_for_torch_is_needed_only_until_it_is_loaded(monkeypatch):
    monkeypatch.setattr(machine, "_free_address_space", lambda: 100_000_000)
    monkeypatch.setitem(sys.modules, "torch", machine)  # whatever it is: it is there
    assert machine.usable_device("cpu") == "cpu"
    monkeypatch.delitem(sys.modules, "torch")
    with pytest.raises(StepreelError, match=r"PyTorch needs 0\.9 GB; raise the limit"):
        machine.usable_device("cpu")
