"""`stepreel demo`: generate a sample recording, find its key steps, compare with the true ones."""

from __future__ import annotations

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


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the sample and its storyboard.")
    ] = Path("demo"),
    sample_seed: Annotated[int, typer.Option(min=0, help="Seed of the sample recording.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the training.")] = 0,
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
    """Print found and true steps side by side, and the scores under the protocol `strict`."""
    import numpy as np

    from stepreel.evaluation.datasets.sample import read_sample_steps
    from stepreel.evaluation.methods.baselines import equal_split
    from stepreel.evaluation.metrics.localization import score_strict
    from stepreel.evaluation.truth.annotation import labels_of_spans
    from stepreel.evaluation.truth.storyboard_labels import labels_of_storyboard
    from stepreel.report.wording import clock_with_tenths
    from stepreel.storyboard.letters import letter

    true_steps = read_sample_steps(sample.truth)
    say("\n   found                     true")

    def extent(start: float, end: float) -> str:
        return f"{clock_with_tenths(start)} - {clock_with_tenths(end)}"

    shown = [(s.start, f"{extent(s.start, s.end)}  {letter(s.cluster)}") for s in board.steps]
    true = [(t.start, f"{extent(t.start, t.end)}  {t.step} {t.name}") for t in true_steps]
    for row in sorted([(a, 0, text) for a, text in shown] + [(a, 1, text) for a, text in true]):
        say(f"   {'' if row[1] else row[2]:<24}  {row[2] if row[1] else ''}".rstrip())

    times = np.arange(0, board.recording.duration_seconds, 1 / 30)
    truth = labels_of_spans([(t.start, t.end, t.step) for t in true_steps], times, 0)
    n_clusters = int(board.settings["key_steps"]["n_clusters"])
    rows = {
        "equal split": equal_split(len(times), n_clusters),
        "stepreel": labels_of_storyboard(board, times),
    }
    say(f"\nscores (protocol strict, K = {n_clusters})   F1    IoU   precision  recall")
    for name, labels in rows.items():
        s = score_strict(truth, labels, n_clusters)
        say(f"   {name:<28} {s.f1:5.1f}  {s.iou:5.1f}  {s.precision:9.1f}  {s.recall:6.1f}")
    say(f"   {'ceiling':<28} {s.ceiling:5.1f}\n")
