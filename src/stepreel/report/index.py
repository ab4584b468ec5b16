"""Make index.html, the page that puts several recordings of one task side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from stepreel.report.addresses import address_of, path_inside
from stepreel.report.page import (
    environment,
    inlined_style,
    kinds_used,
    sha256_source,
    template_text,
)
from stepreel.report.palette import Kind
from stepreel.report.timeline import Timeline, lay_out_timeline
from stepreel.storyboard.schema import Storyboard
from stepreel.system.files import explained, write_text

_MOST_PICTURES = 5
_LARGEST_SHARED_RATIO = 4


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
    """In how many of the recordings a kind of step is seen."""

    kind: Kind
    recordings: int


def write_index(
    folder: Path,
    boards: Sequence[tuple[str, Storyboard]],
    *,
    failed: Sequence[tuple[str, str]],
) -> Path:
    """Write index.html into `folder`; each board comes with the name of its folder in there.

    `failed` pairs a recording's name with the reason it has no storyboard. Pictures are linked,
    not embedded: the index is of use only beside the storyboards anyway.
    """
    path = folder / "index.html"
    with explained(folder):
        write_text(path, _render_index(folder, boards, failed))
    return path


def _render_index(
    folder: Path, boards: Sequence[tuple[str, Storyboard]], failed: Sequence[tuple[str, str]]
) -> str:
    storyboards = [board for _, board in boards]
    takes = _takes(folder, boards)
    style = inlined_style(("shared.css", "index.css"), kinds=kinds_used(storyboards))
    script = Markup(template_text("theme.js") + "\n" + template_text("index.js"))
    return (
        environment()
        .get_template("index.html.j2")
        .render(
            content_policy=_content_policy(style, script),
            failed=failed,
            same_scale=any(take.share < 100 for take in takes),
            script=script,
            spreads=_spreads(storyboards),
            style=style,
            takes=takes,
            total_seconds=sum(board.recording.duration_seconds for board in storyboards),
        )
    )


def _takes(folder: Path, boards: Sequence[tuple[str, Storyboard]]) -> list[IndexRow]:
    lengths = [lay_out_timeline(board).seconds for _, board in boards]
    longest = max(lengths, default=0)
    # A common scale lets takes be compared, unless the short ones would become unreadable.
    shared = bool(lengths) and 0 < longest <= _LARGEST_SHARED_RATIO * min(lengths)
    return [
        IndexRow(
            folder=name,
            board=board,
            page=address_of(f"{name}/storyboard.html"),
            pictures=_pictures(folder, name, board),
            timeline=lay_out_timeline(board),
            share=round(100 * seconds / longest, 2) if shared else 100,
        )
        for (name, board), seconds in zip(boards, lengths, strict=True)
    ]


def _pictures(folder: Path, name: str, board: Storyboard) -> list[str]:
    files = [step.picture for step in board.steps if step.picture]
    paths = [(file, path_inside(folder / name, file)) for file in files]
    there = [file for file, path in paths if path and path.is_file()]
    return [address_of(f"{name}/{file}") for file in there[:_MOST_PICTURES]]


def _spreads(boards: list[Storyboard]) -> list[Spread]:
    seen = [{step.cluster for step in board.steps} for board in boards]
    counted = [
        Spread(kind, sum(kind.cluster in kinds for kinds in seen)) for kind in kinds_used(boards)
    ]
    return [spread for spread in counted if spread.recordings]


def _content_policy(style: str, script: str) -> str:
    return "; ".join(
        [
            "default-src 'none'",
            "img-src 'self' file: data:",
            f"style-src {sha256_source(style)}",
            f"script-src {sha256_source(script)}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
