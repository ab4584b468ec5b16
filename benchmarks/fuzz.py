"""Damage files of every kind and read them: each must be read or refused within limits.

python benchmarks/fuzz.py --cases 2000 --seed 0

Every case runs in a process with limits. A case fails if it raises anything but the package's own
errors, takes too long, takes too much memory or ends the process. Failed cases are kept, with
their traceback, in a folder; `--rerun "KIND" NUMBER` with the same seed runs one of them again.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import resource
import shutil
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path

import numpy as np
from fuzz_formats import Format, formats, make_good_files

OUTCOMES = ("read", "refused", "failed")
READY = ("ready", "")
MakeFormats = Callable[[Path], dict[str, Format]]


@dataclass(frozen=True)
class Limits:
    """What one case may take."""

    seconds: float = 60.0
    megabytes: int = 1500


@dataclass(frozen=True)
class Case:
    """One damaged file: the kind, the seed, and a number among the cases of that kind.

    Case 0 of every kind is not damaged: it must be read.
    """

    kind: str
    seed: int
    number: int

    def __str__(self) -> str:
        return f"{self.kind.replace(' ', '-')}-seed{self.seed}-{self.number}"

    def random(self) -> np.random.Generator:
        """Return what decides how the file is damaged."""
        return np.random.default_rng([self.seed, zlib.crc32(self.kind.encode()), self.number])


@dataclass
class Worker:
    """A process that runs cases, and the one it is running.

    is_ready  whether it has loaded its libraries, which a busy machine does slowly
    """

    process: multiprocessing.Process
    pipe: Connection
    case: Case | None = None
    started: float = 0.0
    is_ready: bool = False

    def give(self, case: Case) -> None:
        """Let the process run a case."""
        self.case, self.started = case, time.monotonic()
        self.pipe.send(case)


@dataclass
class Outcomes:
    """How the cases of every kind ended, and why some failed."""

    counts: dict[str, Counter[str]]
    failures: list[tuple[Case, str]] = field(default_factory=list)

    def add(self, case: Case, outcome: str, reason: str) -> None:
        """Count a case; a good file that is refused is a failure, too."""
        if case.number == 0 and outcome == "refused":
            outcome = "failed"
        self.counts[case.kind][outcome] += 1
        if outcome == "failed":
            self.failures.append((case, reason))

    def table(self) -> str:
        """Return the counts of every kind, and of all."""
        rows = [("kind", "tried", *OUTCOMES)]
        total: Counter[str] = Counter()
        for kind, counts in self.counts.items():
            rows.append((kind, counts.total(), *(counts[outcome] for outcome in OUTCOMES)))
            total += counts
        rows.append(("all", total.total(), *(total[outcome] for outcome in OUTCOMES)))
        return "\n".join(f"{row[0]:<22}" + "".join(f"{x:>9}" for x in row[1:]) for row in rows)


def damaged_file(form: Format, case: Case, good: Path, folder: Path) -> Path:
    """Write the file of a case."""
    path = folder / Path(form.file).name
    content = (good / form.file).read_bytes()
    path.write_bytes(form.damage(content, case.random()) if case.number else content)
    return path


def run_case(form: Format, case: Case, good: Path) -> tuple[str, str]:
    """Run a case in this process; return how it ended, and a traceback if it failed."""
    from stepreel.errors import SettingsError, StepreelError

    with tempfile.TemporaryDirectory(prefix="stepreel-fuzz-") as name:
        path = damaged_file(form, case, good, Path(name))
        try:
            form.read(path)
        except (StepreelError, SettingsError) as problem:
            return "refused", str(problem)
        except BaseException:
            return "failed", traceback.format_exc()
    return "read", ""


def _work(pipe: Connection, good: Path, megabytes: int, make_formats: MakeFormats) -> None:
    """Run the cases that come through a pipe, until it is closed."""
    import logging

    import cv2  # noqa: F401
    import scipy.io  # noqa: F401
    import torch

    import stepreel.api
    import stepreel.evaluation.score_predictions
    import stepreel.learn.inference  # noqa: F401

    logging.disable()
    torch.set_num_threads(1)
    known = make_formats(good)
    limit = _memory("VmSize") + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    pipe.send(READY)
    with contextlib.suppress(EOFError):
        while True:
            case = pipe.recv()
            Path("/proc/self/clear_refs").write_text("5")  # VmHWM: the most since now
            before = _memory("VmRSS")
            outcome, reason = run_case(known[case.kind], case, good)
            grown = (_memory("VmHWM") - before) // 2**20
            if grown > megabytes // 2:
                outcome, reason = "failed", f"grew by {grown} MB ({outcome}: {reason})"
            pipe.send((outcome, reason))


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def _start(good: Path, limits: Limits, make_formats: MakeFormats) -> Worker:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    arguments = (there, good, limits.megabytes, make_formats)
    process = context.Process(target=_work, args=arguments, daemon=True)
    process.start()
    there.close()
    return Worker(process, here)


def _stop(worker: Worker) -> None:
    worker.process.kill()
    worker.process.join()
    worker.pipe.close()


def _ended(worker: Worker, limits: Limits) -> tuple[str, str, bool] | None:
    """Return outcome, reason and whether the process can go on; None if the case still runs."""
    if worker.pipe.poll():
        try:
            message = worker.pipe.recv()
            if message != READY:
                return (*message, True)
            worker.is_ready, worker.started = True, time.monotonic()
            return None
        except (EOFError, ConnectionResetError):
            worker.process.join()
            return "failed", f"the process ended with {worker.process.exitcode}", False
    if worker.is_ready and time.monotonic() - worker.started > limits.seconds:
        return "failed", f"took more than {limits.seconds:g} s", False
    return None


def run_cases(
    cases: Iterator[Case],
    kinds: list[str],
    good: Path,
    *,
    workers: int,
    limits: Limits,
    make_formats: MakeFormats = formats,
) -> Outcomes:
    """Run cases in several processes; one that hangs or dies is replaced."""
    outcomes = Outcomes({kind: Counter() for kind in kinds})
    pool: list[Worker] = []
    try:
        for _ in range(workers):
            if (case := next(cases, None)) is not None:
                pool.append(_start(good, limits, make_formats))
                pool[-1].give(case)
        while busy := [worker for worker in pool if worker.case is not None]:
            wait([worker.pipe for worker in busy], timeout=0.5)
            for worker in busy:
                if (ended := _ended(worker, limits)) is None or worker.case is None:
                    continue
                outcome, reason, goes_on = ended
                outcomes.add(worker.case, outcome, reason)
                if not goes_on:
                    pool.remove(worker)
                    _stop(worker)
                    worker = _start(good, limits, make_formats)
                    pool.append(worker)
                worker.case = None
                if (case := next(cases, None)) is not None:
                    worker.give(case)
    finally:
        for worker in pool:
            _stop(worker)
    return outcomes


def cases_of(kinds: list[str], n: int, seed: int, *, until: float) -> Iterator[Case]:
    """Yield `n` cases, of all kinds in turn, until a time is reached."""
    for position in range(n):
        if time.monotonic() > until:
            print(f"stopped after {position} of {n} cases: the time is over", file=sys.stderr)
            return
        yield Case(kinds[position % len(kinds)], seed, position // len(kinds))


def fuzz(
    n: int,
    seed: int,
    *,
    workers: int = 2,
    minutes: float = 60.0,
    only: str = "",
    keep: Path | None = None,
    limits: Limits | None = None,
) -> Outcomes:
    """Run `n` cases and keep those that fail in the folder `keep`."""
    until = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory(prefix="stepreel-fuzz-good-") as name:
        good = Path(name)
        make_good_files(good)
        known = formats(good)
        kinds = [kind for kind in known if only in kind]
        cases = cases_of(kinds, n, seed, until=until)
        outcomes = run_cases(cases, kinds, good, workers=workers, limits=limits or Limits())
        for case, reason in outcomes.failures if keep is not None else ():
            _keep(keep / str(case), known[case.kind], case, good, reason)
    return outcomes


def _keep(folder: Path, form: Format, case: Case, good: Path, reason: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    damaged_file(form, case, good, folder)
    (folder / "reason.txt").write_text(f"{case}\n{reason}\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after this time")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="", help="kinds whose names contain this text")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--rerun", nargs=2, metavar=("KIND", "NUMBER"), help="one case, here")
    options = parser.parse_args()
    if options.rerun:
        with tempfile.TemporaryDirectory() as name:
            make_good_files(Path(name))
            case = Case(options.rerun[0], options.seed, int(options.rerun[1]))
            print(*run_case(formats(Path(name))[case.kind], case, Path(name)), sep=": ")
        return
    outcomes = fuzz(
        options.cases,
        options.seed,
        workers=options.workers,
        minutes=options.minutes,
        only=options.only,
        keep=options.keep,
    )
    print(outcomes.table())
    for case, reason in outcomes.failures:
        print(f"\n{case}: {reason.strip().splitlines()[-1][:300]}")
    if outcomes.failures:
        print(f"\nkept in {options.keep}/")
    sys.exit(bool(outcomes.failures))


if __name__ == "__main__":
    main()
