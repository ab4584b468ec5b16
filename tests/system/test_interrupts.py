from __future__ import annotations

import contextlib
import os
import signal

import pytest

from stepreel.system.interrupts import delay_interrupts, preserve_interrupts


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_held_back_comes_afterwards():
    seen = []

    def library():
        press_ctrl_c()
        seen.append("went on")

    with pytest.raises(KeyboardInterrupt), delay_interrupts():
        library()
    assert seen == ["went on"]


def test_an_interrupt_turned_into_an_error_is_an_interrupt_again():
    def library():
        try:
            press_ctrl_c()
        except KeyboardInterrupt as problem:
            raise RuntimeError("export failed") from problem

    with pytest.raises(KeyboardInterrupt), preserve_interrupts():
        library()


def test_an_interrupt_that_a_library_swallows_is_not_lost():
    def library():
        with contextlib.suppress(KeyboardInterrupt):
            press_ctrl_c()

    with pytest.raises(KeyboardInterrupt), preserve_interrupts():
        library()


def test_other_errors_pass_and_the_handler_is_put_back():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(RuntimeError, match="of its own"), preserve_interrupts():
        raise RuntimeError("of its own")
    assert signal.getsignal(signal.SIGINT) is before
