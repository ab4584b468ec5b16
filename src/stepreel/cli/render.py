"""`stepreel render`: page and exports of a storyboard that was edited by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepreel.cli.options import unique_paths
from stepreel.cli.terminal import NOTHING_DONE, SOME_FAILED, counted, report_errors, say, warn

if TYPE_CHECKING:
    from stepreel.storyboard.schema import Storyboard
    from stepreel.storyboard.titles import Titles


def render(
    storyboards: Annotated[
        list[Path],
        typer.Argument(
            help="storyboard.json files, or folders: of one recording, or of a whole task.",
            readable=False,
        ),
    ],
    titles: Annotated[
        Path | None,
        typer.Option(
            help="A CSV file of titles: the letter of a kind or the number of a step, its title."
        ),
    ] = None,
) -> None:
    """Make the page and all exports again after editing storyboard.json.

    The file is checked, and its steps are numbered in time order. The index
    of several recordings is made again too. Edited storyboards are not
    overwritten by `stepreel run` without --force.
    """
    from stepreel.errors import OutputError, StepreelError
    from stepreel.storyboard.titles import read_titles

    done: dict[Path, Storyboard] = {}
    with report_errors():
        paths, empty = _find_storyboards(storyboards)
        named = None if titles is None else read_titles(titles, n_recordings=len(paths))
        if named is not None and named.kinds:
            _check_same_kinds(paths, named.file)
        for path in paths:
            try:
                done[path] = _render(path, named)
            except (StepreelError, OutputError) as problem:
                warn(f"stepreel: {problem}")
        if named and done:
            clusters = [[step.cluster for step in board.steps] for board in done.values()]
            if unused := named.unused_by_all(clusters):
                warn(f"stepreel: {unused}")
        is_whole = _rebuild_indexes(done) and len(done) == len(paths) and not empty
        if not done:
            raise typer.Exit(NOTHING_DONE)
        if not is_whole:
            raise typer.Exit(SOME_FAILED)


def _find_storyboards(named: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return the storyboards that a user names, and the folders that contain none."""
    from stepreel.storyboard.folders import storyboard_files

    found = {path: storyboard_files(path) for path in named}
    empty = [path for path, files in found.items() if not files]
    for path in empty:
        warn(f"stepreel: {path}: there is no storyboard.json in it, nor in the folders in it")
    return unique_paths([file for files in found.values() for file in files]), empty


def _check_same_kinds(paths: Sequence[Path], titles: str) -> None:
    """Raise StepreelError if one letter may mean different steps in these storyboards."""
    from contextlib import suppress

    from stepreel.errors import StepreelError
    from stepreel.storyboard.schema import read_storyboard

    by_id: dict[str, Path] = {}
    for path in paths:
        with suppress(StepreelError):  # reported when it is rendered
            by_id.setdefault(read_storyboard(path).clustering_id, path)
    if len(by_id) > 1:
        one, other = list(by_id.values())[:2]
        raise StepreelError(
            f"{titles}: names kinds, but {one} and {other} are of different runs: the same letter "
            "is another kind of step in each. Render each folder with titles of its own"
        )


def _render(path: Path, titles: Titles | None) -> Storyboard:
    from stepreel.report.missing_video import video_problem
    from stepreel.report.pictures import retake_pictures
    from stepreel.report.write import PAGE, render_again
    from stepreel.storyboard.editing import make_consistent, with_titles
    from stepreel.storyboard.schema import read_storyboard
    from stepreel.system.locks import lock_output

    with lock_output(path.parent):
        board = make_consistent(read_storyboard(path), path)
        if titles is not None:
            board = with_titles(board, titles)
        board, problems = retake_pictures(board, path.parent)
        render_again(board, path)
    for problem in filter(None, [*problems, video_problem(board, path.parent)]):
        warn(f"stepreel: {path}: {problem}")
    say(f"{board.title}: {counted(len(board.steps), 'step')}")
    for note in titles.unused_note(step.cluster for step in board.steps) if titles else ():
        say(f"  note: {note}")
    say(f"  storyboard: {path.parent / PAGE}")
    return board


def _rebuild_indexes(rendered: Iterable[Path]) -> bool:
    """Make the indexes above these storyboards again; return whether all that exist were made."""
    from stepreel.errors import OutputError, StepreelError
    from stepreel.report.index import rebuild_index
    from stepreel.system.locks import lock_output

    is_whole = True
    for folder, as_given in {path.parent.resolve().parent: path for path in rendered}.items():
        if not (folder / "index.html").exists():
            continue
        try:
            with lock_output(folder):
                index = rebuild_index(folder)
        except (StepreelError, OutputError) as problem:
            warn(f"stepreel: {problem}")
            is_whole = False
            continue
        if index is not None:
            say(f"all recordings: {_shown_index(index, as_given)}")
    return is_whole


def _shown_index(index: Path, storyboard: Path) -> Path:
    """Return the path of the index in the form in which a storyboard below it was named."""
    folder = storyboard.parent
    above = folder / ".." if folder.name in ("", "..") else folder.parent
    # Elsewhere, if the folder is a link.
    return above / index.name if above.resolve() == index.parent else index
