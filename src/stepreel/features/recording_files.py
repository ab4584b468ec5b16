"""What a user names → files: folders and wildcards become the recordings they stand for."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stepreel.errors import RecordingError
from stepreel.features.array_files import is_feature_file
from stepreel.system.names import natural_order
from stepreel.types import readable

VIDEO_SUFFIXES = (
    *(".mp4", ".mov", ".mkv", ".webm", ".avi", ".m4v", ".mpg", ".mpeg", ".ts", ".wmv"),
    *(".m2ts", ".mts", ".asf", ".flv", ".ogv", ".3gp", ".3g2", ".mxf", ".vob"),
)
# `Path` turns the // of an address into one /. A single letter before the colon is a drive.
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):/+(.*)", re.IGNORECASE)
_WEBSITE = re.compile(r"(www\.|([a-z]+\.)?youtube\.com/|youtu\.be/|vimeo\.com/)", re.IGNORECASE)
_MOST_NAMES = 5


@dataclass(frozen=True)
class FolderContents:
    """The recordings in a folder, in natural order, and the names of everything else in it."""

    folder: Path
    recordings: list[Path]
    ignored: list[str]

    def __str__(self) -> str:
        are_videos = not any(map(is_feature_file, self.recordings))
        kind = "video" if are_videos else "feature file"
        count = f"{len(self.recordings)} {kind}{'' if len(self.recordings) == 1 else 's'}"
        taken = f"{self.folder}: {count}: {_listed([path.name for path in self.recordings])}"
        return readable(taken + (f"; ignored: {_listed(self.ignored)}" if self.ignored else ""))


def expand_sources(
    paths: Iterable[Path], *, other_files: Sequence[Path] = ()
) -> tuple[list[Path], list[FolderContents]]:
    """Replace folders and wildcards by the recordings they stand for; return the folders as well.

    What stands for nothing is kept as it is; `why_not_a_recording` says what is wrong with it.

    other_files  files that are no recordings, whatever their suffix
    """
    expanded: list[Path] = []
    folders: list[FolderContents] = []
    for path in paths:
        for match in _matches(path):
            contents = (
                list_folder(match, other_files) if _exists(match) and match.is_dir() else None
            )
            if contents is None or not contents.recordings:
                expanded.append(match)
            else:
                expanded += contents.recordings
                folders.append(contents)
    return expanded, folders


def list_folder(folder: Path, other_files: Sequence[Path] = ()) -> FolderContents:
    """Tell recordings in a folder from everything else; folders inside it are not searched.

    Where there are videos, feature files are ignored: they are often made from the videos, or
    contain their labels, and a task is learned from one or the other.
    """
    try:
        entries = list(folder.iterdir())
    except OSError as problem:
        reason = problem.strerror or problem
        raise RecordingError(f"{readable(str(folder))}: cannot be listed ({reason})") from problem
    entries.sort(key=lambda path: natural_order(path.name.casefold()))
    visible = [path for path in entries if not path.name.startswith(".")]
    others = {path.resolve() for path in other_files}
    files = [path for path in visible if path.is_file() and path.resolve() not in others]
    videos = [path for path in files if path.suffix.lower() in VIDEO_SUFFIXES]
    features = [path for path in files if is_feature_file(path) and not _is_output(path)]
    recordings = videos or features
    ignored = [f"{path.name}/" if path.is_dir() else path.name for path in visible]
    taken = {path.name for path in recordings}
    return FolderContents(folder, recordings, [name for name in ignored if name not in taken])


def why_not_a_recording(path: Path) -> str | None:
    """Say what is wrong with an address, a wildcard or a folder; None for other names."""
    if address := _address(path):
        scheme, rest = address
        if scheme.lower() == "file":
            return f"{readable(str(path))}: is an address; name the file itself: /{readable(rest)}"
        return (
            f"{scheme}://{readable(rest)}: is a web address, and stepreel reads files only; "
            "download the video first, then name the file"
        )
    if _exists(path) and path.is_dir():
        return _why_no_recordings(list_folder(path))
    if glob.has_magic(str(path)) and not _exists(path):
        return f"{readable(str(path))}: no file has such a name; check the folder and the suffix"
    return None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # too long for a name, as web addresses may be
        return False


def _address(path: Path) -> tuple[str, str] | None:
    """Return the scheme and the rest of a web address, unless there is a file of that name."""
    text = path.as_posix()
    match = _SCHEME.match(text)
    if (match is None and not _WEBSITE.match(text)) or _exists(path):
        return None
    return (match[1], match[2]) if match else ("https", text)


def _matches(path: Path) -> list[Path]:
    """Return what a wildcard stands for, where the shell left that to us, or the path itself."""
    if not glob.has_magic(str(path)) or _exists(path) or _address(path):
        return [path]
    found = glob.glob(str(path))  # noqa: PTH207 - `Path.glob` needs a folder to start from
    return [Path(one) for one in sorted(found, key=natural_order)] or [path]


def _is_output(path: Path) -> bool:
    """Return whether we wrote a file: an embedding, or the weights of a model."""
    is_weights = path.name == "model.safetensors" and path.with_suffix(".json").exists()
    return is_weights or path.name.lower().endswith(".embedding.npz")


def _why_no_recordings(contents: FolderContents) -> str:
    name = readable(str(contents.folder))
    if contents.recordings:
        first = readable(contents.recordings[0].name)
        return f"{name}: is a folder; name one recording, as in {name}/{first}"
    if not contents.ignored:
        return f"{name}: is an empty folder; expected videos or feature files in it"
    if any(contents.folder.glob("storyboard.json")) or any(
        contents.folder.glob("*/storyboard.json")
    ):
        return f"{name}: contains storyboards, no recordings; name the folder of the recordings"
    inside = readable(_listed(contents.ignored))
    return (
        f"{name}: contains no video and no feature file, only {inside}; folders inside it are not "
        "searched"
    )


def _listed(names: Sequence[str]) -> str:
    """Name some files.

    >>> _listed(["a", "b"]), _listed(["1", "2", "3", "4", "5", "6", "7"])
    ('a, b', '1, 2, 3, 4, 5 and 2 more')
    """
    shown = names if len(names) <= _MOST_NAMES + 1 else names[:_MOST_NAMES]
    rest = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return ", ".join(shown) + rest
