"""Make index.html, the page that puts several recordings of one task side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stepreel.report.addresses import address_of, path_inside
from stepreel.report.html import content_policy, environment, inlined_script, inlined_style
from stepreel.report.palette import Kind, kinds_used
from stepreel.report.scale import shared_scale
from stepreel.report.timeline import Timeline, lay_out_timeline
from stepreel.storyboard.schema import Storyboard
from stepreel.system.files import explain_write_errors, write_text

_MOST_PICTURES = 5


@dataclass(frozen=True)
class IndexRow:
    """One recording as the index shows it; `share` is percent of the full timeline's width."""

    folder: str
    board: Storyboard
    page: str
    pictures: list[str]
    timeline: Timeline
    share: float


@dataclass(frozen=True)
class Spread:
    """In how many of the recordings a kind of step occurs."""

    kind: Kind
    recordings: int


def write_index(
    folder: Path,
    boards: Sequence[tuple[str, Storyboard]],
    *,
    failed: Sequence[tuple[str, str]],
) -> Path:
    """Write index.html into `folder`; return its path.

    Pictures are linked, not embedded: the index is useful only beside the storyboards anyway.

    boards  each storyboard with the name of its folder inside `folder`
    failed  the name of each recording without a storyboard, and the reason
    """
    path = folder / "index.html"
    with explain_write_errors(folder):
        write_text(path, _render_index(folder, boards, failed))
    return path


def _render_index(
    folder: Path, boards: Sequence[tuple[str, Storyboard]], failed: Sequence[tuple[str, str]]
) -> str:
    storyboards = [board for _, board in boards]
    rows = _rows(folder, boards)
    style = inlined_style(("shared.css", "index.css"), kinds=kinds_used(storyboards))
    script = inlined_script("theme.js", "letters.js", "index.js")
    return (
        environment()
        .get_template("index.html.j2")
        .render(
            are_features=any(board.recording.kind == "features" for board in storyboards),
            content_policy=content_policy(style, [script], img="'self' file: data:"),
            failed=failed,
            rows=rows,
            same_scale=any(row.share < 100 for row in rows),
            script=script,
            spreads=_spreads(storyboards),
            style=style,
            total_seconds=sum(board.recording.duration_seconds for board in storyboards),
        )
    )


def _rows(folder: Path, boards: Sequence[tuple[str, Storyboard]]) -> list[IndexRow]:
    timelines = [lay_out_timeline(board) for _, board in boards]
    shares = shared_scale([timeline.seconds for timeline in timelines]) or [100.0] * len(boards)
    return [
        IndexRow(
            folder=name,
            board=board,
            page=address_of(f"{name}/storyboard.html"),
            pictures=_pictures(folder, name, board),
            timeline=timeline,
            share=share,
        )
        for (name, board), timeline, share in zip(boards, timelines, shares, strict=True)
    ]


def _pictures(folder: Path, name: str, board: Storyboard) -> list[str]:
    files = [step.picture for step in board.steps if step.picture]
    paths = [(file, path_inside(folder / name, file)) for file in files]
    existing = [file for file, path in paths if path and path.is_file()]
    return [address_of(f"{name}/{file}") for file in existing[:_MOST_PICTURES]]


def _spreads(boards: list[Storyboard]) -> list[Spread]:
    clusters = [{step.cluster for step in board.steps} for board in boards]
    spreads = [
        Spread(kind, sum(kind.cluster in of_board for of_board in clusters))
        for kind in kinds_used(boards)
    ]
    return [spread for spread in spreads if spread.recordings]
