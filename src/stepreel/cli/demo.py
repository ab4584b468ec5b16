"""`stepreel demo`: generate a sample recording, find its key steps, compare with the true ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepreel.cli.options import Cache, NoCache, Quiet
from stepreel.cli.progress import progress_bar
from stepreel.cli.run import find, summary
from stepreel.cli.terminal import refuse, report_errors, say

if TYPE_CHECKING:
    from stepreel.evaluation.datasets.sample import Sample
    from stepreel.storyboard.schema import Storyboard
    from stepreel.types import Labels, Seconds

TRUTH_FPS = 30.0
SHORTEST_PAUSE = 1.0  # seconds
TOGETHER = 2.0  # seconds


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the sample and its storyboard.")
    ] = Path("demo"),
    sample_seed: Annotated[int, typer.Option(min=0, help="Seed of the sample recording.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    cache: Cache = None,
    no_cache: NoCache = False,
    quiet: Quiet = False,
) -> None:
    """Run everything on a generated recording whose true steps are known.

    The true steps are used only for the comparison, not to find steps.
    """
    with report_errors():
        from stepreel.system.files import check_writable
        from stepreel.system.locks import lock_output
        from stepreel.system.machine import SPACE_FOR_VIDEO, check_address_space

        check_address_space(SPACE_FOR_VIDEO)
        check_writable(output)
        with lock_output(output):  # another demo may be making the same sample
            sample = _make_sample(output / f"sample-{sample_seed}", sample_seed, quiet=quiet)
        task_run = find(
            [sample.video],
            output,
            preset="quick",
            overrides={"train.seed": seed},
            cache=cache,
            no_cache=no_cache,
            quiet=quiet,
        )
        for reason in task_run.failures.values():
            raise refuse(reason)
        assert task_run.written is not None
        board = task_run.written.boards[0]
        say(f"{sample.video}: {summary(board)}")
        _compare(sample, board)
        say(f"storyboard: {task_run.written.folders[0] / 'storyboard.html'}")


def _make_sample(folder: Path, seed: int, *, quiet: bool) -> Sample:
    from stepreel.evaluation.datasets.sample import Sample, make_sample

    sample = Sample(*(folder / f"work-bench{end}" for end in (".mp4", ".gaze.csv", ".steps.csv")))
    if all(path.exists() for path in (sample.video, sample.gaze, sample.truth)):
        return sample
    with progress_bar(quiet=quiet) as progress:
        return make_sample(
            folder,
            seed=seed,
            progress=lambda done, total: progress("making sample", done, total),
        )


def _compare(sample: Sample, board: Storyboard) -> None:
    """Print found and true steps side by side, and how well they agree."""
    import numpy as np

    from stepreel.evaluation.datasets.sample import read_sample_steps
    from stepreel.evaluation.truth.annotation import labels_of_spans
    from stepreel.report.wording import clock_with_tenths
    from stepreel.storyboard.letters import letter

    def extent(start: float, end: float) -> str:
        return f"{clock_with_tenths(start)} - {clock_with_tenths(end)}"

    if board.decision is not None:
        say(f"how steps were found: {board.decision.sentence}")
    true = [(t.start, t.end, t.step, t.name) for t in read_sample_steps(sample.truth)]
    say(f"\n   {'found':<24}  true")
    rows = [(s.start, 0, f"{extent(s.start, s.end)}  {letter(s.cluster)}") for s in board.steps]
    rows += [(start, 1, f"{extent(start, end)}  {name}") for start, end, _, name in true]
    edges = [0.0, *(edge for start, end, *_ in true for edge in (start, end))]
    edges.append(max(edges[-1], board.recording.duration_seconds))
    pauses = zip(edges[::2], edges[1::2], strict=True)
    rows += [(a, 1, f"{extent(a, b)}  (pause)") for a, b in pauses if b - a >= SHORTEST_PAUSE]
    for found, true_step in _side_by_side(sorted(rows)):
        say(f"   {found:<24}  {true_step}".rstrip())
    say("\n   To stepreel, a pause is a step like any other: only a person knows the difference.")

    times = np.arange(0, board.recording.duration_seconds, 1 / TRUTH_FPS)
    truth = labels_of_spans([(start, end, step) for start, end, step, _ in true], times, 0)
    say(f"\n{'agreement, F1 in percent':<42} stepreel   equal parts")
    for name, ours, equal in _scores(board, truth, times):
        say(f"   {name:<38} {ours:9.1f} {equal:13.1f}")
    say("   equal parts: as many, cut by the clock, without looking at the recording")
    say("   [1] pauses that are shown count as too many\n")


def _side_by_side(rows: Sequence[tuple[float, int, str]]) -> Iterator[tuple[str, str]]:
    """Put a found and a true step that begin about together on one line.

    rows  in time order: when a step begins, whether it is a true one, its text

    >>> list(_side_by_side([(0.0, 0, "A"), (0.5, 1, "saw"), (9.0, 0, "B"), (12.0, 1, "sand")]))
    [('A', 'saw'), ('B', ''), ('', 'sand')]
    """
    line, begun = ["", ""], -TOGETHER
    for start, is_true, text in rows:
        if any(line) and (line[is_true] or start - begun > TOGETHER):
            yield line[0], line[1]
            line = ["", ""]
        if not any(line):
            begun = start
        line[is_true] = text
    yield line[0], line[1]


def _scores(board: Storyboard, truth: Labels, times: Seconds) -> Iterator[tuple[str, float, float]]:
    """Yield what is measured, the storyboard's F1, and that of as many equal parts."""
    from stepreel.evaluation.methods.baselines import equal_split
    from stepreel.evaluation.metrics.localization import score_strict
    from stepreel.evaluation.metrics.storyboard_worth import COVERAGE, MATCHED_SPLIT, RecordingJudge
    from stepreel.evaluation.metrics.timed_steps import ShownSteps, TrueSteps
    from stepreel.evaluation.truth.storyboard_labels import labels_of_storyboard

    steps = ShownSteps.of_steps([(step.start, step.end, step.time) for step in board.steps])
    measured = RecordingJudge(TrueSteps.of_labels(truth, times)).measure(steps)
    named = {
        "borders, within 1 s": "1s",
        "borders, within 2 s": "2s",
        "every step, once [1]": COVERAGE,
    }
    for name, measure in named.items():
        found = measured[measure]
        yield name, found.rates.f1, found.nulls[MATCHED_SPLIT].f1
    k = int(board.settings["key_steps"]["n_clusters"])
    ours = score_strict(truth, labels_of_storyboard(board, times), k).f1
    equal = score_strict(truth, equal_split(len(times), k), k).f1
    yield f"moments of {k} kinds (protocol strict)", ours, equal
