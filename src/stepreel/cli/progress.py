"""Show the progress of long work: bars on a terminal, lines elsewhere."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stepreel.cli.terminal import printable, warn
from stepreel.types import WAITING, AtMost, Progress, no_progress

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

MOST_BARS = 8  # more would push the current one out of a small terminal
SECONDS_BETWEEN_LINES = 60.0


@contextlib.contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Progress]:
    """Show bars on a terminal; elsewhere, as in a log, write lines. Both go to standard error."""
    if quiet or sys.stderr is None:
        yield no_progress
    elif sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        with _bars() as progress:
            yield progress
    else:
        with progress_lines() as progress:
            yield progress


@dataclass
class Stage:
    """One stage of the work; its speed is measured from the first report to the last.

    The first report may be far from 0, in work that resumes.
    """

    label: str
    done: float
    total: float
    first_done: float = field(init=False)
    began: float = field(default_factory=time.monotonic)
    reported: float = field(init=False)

    def __post_init__(self) -> None:
        self.first_done, self.reported = self.done, self.began

    def report(self, done: float, total: float) -> None:
        """Take in a later report."""
        self.done, self.total, self.reported = done, total, time.monotonic()

    @property
    def is_waiting(self) -> bool:
        """Whether it is waiting for another process; labels also say of which recording or method.

        >>> [Stage(f"{label} 1 of 2: a.mp4", 0, 0).is_waiting for label in ("waiting", "learning")]
        [True, False]
        """
        return self.label.startswith(WAITING) or self.label.endswith(f": {WAITING}")

    @property
    def is_finished(self) -> bool:
        """Whether all is done; never true while the total is unknown."""
        return self.done >= self.total > 0

    @property
    def percent(self) -> str:
        """How much is done, in percent; 100 only at the end, empty while the total is unknown."""
        if self.total <= 0:
            return ""
        return f"{math.floor(100 * min(1.0, self.done / self.total))} %"

    @property
    def left(self) -> str:
        """How long it will take, in words; empty while that is unknown, and at the end."""
        progressed, spent = self.done - self.first_done, self.reported - self.began
        if self.is_finished or self.total <= 0 or progressed <= 0 or spent <= 0:
            return ""
        since = time.monotonic() - self.reported
        seconds = max(1.0, (self.total - self.done) * spent / progressed - since)
        return f"{'at most' if isinstance(self.total, AtMost) else 'about'} {rounded(seconds)} left"

    @property
    def so_far(self) -> str:
        """What is done, spent and left, in words."""
        spent = f"{rounded_down(time.monotonic() - self.began)} so far"
        return ", ".join(filter(None, [self.percent, spent, self.left]))


def rounded(seconds: float) -> str:
    """Round a duration up, to what can be said of an estimate.

    >>> rounded(7.2), rounded(41), rounded(58), rounded(61), rounded(3601), rounded(7200)
    ('8 s', '45 s', '1 min', '2 min', '1 h 10 min', '2 h')
    """
    if seconds <= 55:
        return f"{math.ceil(seconds) if seconds < 10 else 5 * math.ceil(seconds / 5)} s"
    minutes = math.ceil(seconds / 60)
    return _in_words(minutes if minutes < 60 else 10 * math.ceil(minutes / 10))


def rounded_down(seconds: float) -> str:
    """Round a duration down, because so much time has really passed.

    >>> rounded_down(7.2), rounded_down(59.9), rounded_down(61), rounded_down(3725)
    ('7 s', '59 s', '1 min', '1 h 2 min')
    """
    return f"{int(seconds)} s" if seconds < 60 else _in_words(int(seconds) // 60)


def _in_words(minutes: int) -> str:
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


@dataclass
class Stages:
    """The stages reported so far, by label; the one that was reported last comes last."""

    stages: dict[str, Stage] = field(default_factory=dict)

    def report(self, label: str, done: float, total: float) -> tuple[Stage, bool]:
        """Return the stage that a report is about, and whether it is new.

        A finished stage that is reported as unfinished has started again.
        """
        stage = self.stages.pop(label, None)
        is_new = stage is None or (stage.is_finished and not done >= total > 0)
        if stage is None or is_new:
            stage = Stage(label, done, total)
        else:
            stage.report(done, total)
        self.stages[label] = stage
        return stage, is_new


@contextlib.contextmanager
def progress_lines(*, every_seconds: float = SECONDS_BETWEEN_LINES) -> Iterator[Progress]:
    """Write a line when a stage starts, and one a minute while it lasts."""
    stages, changing, over = Stages(), threading.Lock(), threading.Event()
    written = time.monotonic()

    def write(text: str) -> None:
        nonlocal written
        written = time.monotonic()
        with contextlib.suppress(OSError, ValueError):  # a full or closed log must not stop work
            warn(f"stepreel: {text}")

    def report(label: str, done: float, total: float) -> None:
        with changing:
            stage, is_new = stages.report(label, done, total)
            if is_new and not stage.is_waiting:  # that is in the log, with its reason
                write(stage.label)

    def write_regularly() -> None:
        while not over.wait(min(1.0, every_seconds / 4)):
            with changing:
                stage = next(reversed(stages.stages.values()), None)
                is_due = time.monotonic() - written >= every_seconds
                if stage is not None and is_due and not stage.is_finished:
                    write(f"{stage.label}: {stage.so_far}")

    writer = threading.Thread(target=write_regularly, daemon=True)
    writer.start()
    try:
        yield report
    finally:
        over.set()
        writer.join()


@contextlib.contextmanager
def _bars() -> Iterator[Progress]:
    """Show a bar for each of the latest stages, until the work is done."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress
    from rich.table import Column

    columns = [
        TextColumn(
            "{task.description}",
            markup=False,
            table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
        ),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[stage].percent:>5}", table_column=Column(no_wrap=True)),
        TimeElapsedColumn(table_column=Column(no_wrap=True)),
        TextColumn("{task.fields[stage].left:<18}", table_column=Column(no_wrap=True)),
    ]
    shown = RichProgress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        expand=True,
        # Results on standard output pass through the bars only if they reach the same terminal.
        redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),
    )
    with shown:
        yield _BarReports(shown)


@dataclass
class _BarReports:
    """Turn reports of progress into bars, the least recently reported of which give way."""

    shown: RichProgress
    stages: Stages = field(default_factory=Stages)
    bars: dict[str, TaskID] = field(default_factory=dict)

    def __call__(self, label: str, done: float, total: float) -> None:
        stage, is_new = self.stages.report(label, done, total)
        if is_new and label in self.bars:
            self.shown.remove_task(self.bars.pop(label))
        if label not in self.bars:
            self.bars[label] = self.shown.add_task(printable(label), stage=stage)
        self.shown.update(self.bars[label], completed=done, total=total or None)
        for old in list(self.stages.stages)[:-MOST_BARS]:
            if old in self.bars:
                self.shown.remove_task(self.bars.pop(old))
