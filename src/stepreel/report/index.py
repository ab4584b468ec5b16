"""Make index.html, the page that puts several recordings of one task side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stepreel.report.addresses import address_of, path_inside
from stepreel.report.html import (
    content_policy,
    environment,
    inlined_script,
    inlined_style,
    script_safe_json,
)
from stepreel.report.index_comparison import COMPARISON, find_comparison
from stepreel.report.index_contents import (
    INDEX,
    IndexContents,
    read_contents,
    read_listed_boards,
)
from stepreel.report.index_groups import group_boards
from stepreel.report.kind_titles import given_title, kind_titles
from stepreel.report.palette import Kind, kind_of, kinds_used
from stepreel.report.scale import shared_scale
from stepreel.report.timeline import Timeline, lay_out_timeline
from stepreel.report.wording import clock_in, extent, length, one_line
from stepreel.storyboard.editing import is_edited
from stepreel.storyboard.review_notes import is_unclear
from stepreel.storyboard.schema import KeyStep, Storyboard
from stepreel.system.files import explain_write_errors, write_text

_MOST_STEPS = 40  # of more, there is a picture per kind of step, and a list
_MOST_LARGE = 12  # more pictures are shown small


@dataclass(frozen=True)
class Tile:
    """One step as the index shows it, or all visits of one kind of step.

    page         the address of the step on its own page
    title        that a person gave; empty if it has none
    caption      when it starts, or how often it is visited
    description  the same in more words, shown when the pointer rests on it
    """

    kind: Kind
    page: str
    picture: str | None
    title: str
    caption: str
    description: str


@dataclass(frozen=True)
class IndexRow:
    """One recording as the index shows it.

    steps  a tile per step
    kinds  a tile per kind of step
    share  percent of the full timeline's width
    """

    folder: str
    board: Storyboard
    page: str
    steps: list[Tile]
    kinds: list[Tile]
    timeline: Timeline
    share: float

    @property
    def is_unclear(self) -> bool:
        """Whether no clear structure was found in it."""
        return is_unclear(self.board)

    @property
    def is_edited(self) -> bool:
        """Whether its storyboard was edited by hand."""
        return is_edited(self.board)

    @property
    def is_folded(self) -> bool:
        """Whether there are too many steps for a picture of each."""
        return len(self.steps) > _MOST_STEPS

    @property
    def tiles(self) -> list[Tile]:
        """What is shown at first."""
        return self.kinds if self.is_folded else self.steps

    @property
    def look(self) -> str:
        """How its tiles are laid out, as classes of the style sheet."""
        if not any(tile.picture for tile in self.tiles):
            return "plain"
        recording = self.board.recording
        is_portrait = (recording.height or 0) > (recording.width or 0)
        looks = {"portrait": is_portrait, "many": len(self.tiles) > _MOST_LARGE}
        return " ".join(look for look, applies in looks.items() if applies)


def write_index(
    folder: Path,
    boards: Sequence[tuple[str, Storyboard]],
    *,
    failed: Sequence[tuple[str, str]],
    contents: IndexContents | None = None,
) -> Path:
    """Write index.html into `folder`; return its path.

    Pictures are linked, not embedded: the index is useful only beside the storyboards anyway.

    boards    each storyboard with the name of its folder inside `folder`
    failed    the name of each recording without a storyboard, and the reason
    contents  what the index remembers to be made from, if that differs from what it shows
    """
    path = folder / INDEX
    names = [name for name, _ in boards]
    contents = contents or IndexContents(folders=names, failed=list(failed))
    with explain_write_errors(folder):
        write_text(path, _render_index(folder, boards, failed, contents))
    return path


def rebuild_index(folder: Path, contents: IndexContents | None = None) -> Path | None:
    """Make the index of `folder` again from the storyboards below it; None if there is none.

    A storyboard that cannot be read now is named.

    contents  what to list; None: what the index lists now
    """
    contents = contents or read_contents(folder)
    if contents is None:
        return None
    boards, unreadable = read_listed_boards(folder, contents)
    present = {name for name, _ in [*boards, *unreadable]}
    listed = [name for name in contents.folders if name in present]
    return write_index(
        folder,
        boards,
        failed=[*contents.failed, *unreadable],
        contents=contents.model_copy(update={"folders": listed}),
    )


def _render_index(
    folder: Path,
    boards: Sequence[tuple[str, Storyboard]],
    failed: Sequence[tuple[str, str]],
    contents: IndexContents,
) -> str:
    storyboards = [board for _, board in boards]
    rows = _rows(folder, boards)
    style = inlined_style(("shared.css", "index.css"), kinds=kinds_used(storyboards))
    script = inlined_script("theme.js", "letters.js", "index.js")
    return (
        environment()
        .get_template("index.html.j2")
        .render(
            comparison=COMPARISON,
            is_compared=find_comparison(folder, boards),
            are_features=any(board.recording.kind == "features" for board in storyboards),
            content_policy=content_policy(style, [script], img="'self' file: data:"),
            contents=script_safe_json(contents.model_dump()),
            failed=failed,
            groups=group_boards(storyboards),
            n_unclear=sum(row.is_unclear for row in rows),
            rows=rows,
            same_scale=any(row.share < 100 for row in rows),
            script=script,
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
            steps=[_step_tile(folder, name, step) for step in board.steps],
            kinds=_kind_tiles(folder, name, board),
            timeline=timeline,
            share=share,
        )
        for (name, board), timeline, share in zip(boards, timelines, shares, strict=True)
    ]


def _step_tile(folder: Path, name: str, step: KeyStep) -> Tile:
    kind = kind_of(step.cluster)
    visit = f", visit {step.occurrence} of {step.occurrences}" if step.occurrences > 1 else ""
    return Tile(
        kind,
        page=_step_page(name, step),
        picture=_picture(folder, name, step),
        title=given_title(step),
        caption=clock_in(step.start, step),
        description=f"{one_line(step.title)} ({kind.letter}{visit}), {extent(step)}",
    )


def _kind_tiles(folder: Path, name: str, board: Storyboard) -> list[Tile]:
    """Return a tile per kind of step, with the picture of its clearest visit."""
    tiles = []
    titles = kind_titles(board.steps)
    for kind in kinds_used([board]):
        visits = [step for step in board.steps if step.cluster == kind.cluster]
        if not visits:
            continue
        clearest = max(visits, key=lambda step: step.confidence)
        count = f"{len(visits)} {'visit' if len(visits) == 1 else 'visits'}"
        seconds = length(sum(step.seconds for step in visits))
        starts = ", ".join(clock_in(step.start, step) for step in visits[:10])
        title = titles.get(kind.cluster, "")
        named = f"{kind.letter}, {title}" if title else kind.letter
        tiles.append(
            Tile(
                kind,
                page=_step_page(name, clearest),
                picture=_picture(folder, name, clearest),
                title=title,
                caption=count,
                description=f"{named}: {count}, {seconds} in all, at {starts}"
                + (", …" if len(visits) > 10 else ""),
            )
        )
    return tiles


def _step_page(name: str, step: KeyStep) -> str:
    return address_of(f"{name}/storyboard.html") + f"#step-{step.index}"


def _picture(folder: Path, name: str, step: KeyStep) -> str | None:
    """Return the address of a step's picture, if it is there."""
    path = path_inside(folder / name, step.picture) if step.picture else None
    return address_of(f"{name}/{step.picture}") if path and path.is_file() else None
