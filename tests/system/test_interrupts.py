from __future__ import annotations

import contextlib
import os
import signal

import pytest

from stepreel.system.interrupts import delay_interrupts, preserve_interrupts


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def test_a_delayed_interrupt_is_raised_after_the_block():
    seen = []

    def library():
        press_ctrl_c()
        seen.append("continued")

    with pytest.raises(KeyboardInterrupt), delay_interrupts():
        library()
    assert seen == ["continued"]


def test_an_interrupt_that_a_library_converts_is_raised_as_an_interrupt():
    def library():
        try:
            press_ctrl_c()
        except KeyboardInterrupt as problem:
            raise RuntimeError("export failed") from problem

    with pytest.raises(KeyboardInterrupt), preserve_interrupts():
        library()


def test_an_interrupt_that_a_library_swallows_is_still_raised():
    def library():
        with contextlib.suppress(KeyboardInterrupt):
            press_ctrl_c()

    with pytest.raises(KeyboardInterrupt), preserve_interrupts():
        library()


def test_other_errors_pass_and_the_previous_handler_is_restored():
    previous = signal.getsignal(signal.SIGINT)
    with pytest.raises(RuntimeError, match="another error"), preserve_interrupts():
        raise RuntimeError("another error")
    assert signal.getsignal(signal.SIGINT) is previous
