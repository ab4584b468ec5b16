"""Which files of EgoProceL are where: six datasets, each with its own layout."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stepreel.errors import DatasetError, DatasetMissingError
from stepreel.evaluation.datasets.base import Request
from stepreel.evaluation.datasets.reading import VIDEO_SUFFIXES, require
from stepreel.evaluation.truth.annotation import Problems
from stepreel.features.array_files import READERS
from stepreel.types import readable

MAX_VIDEO_DEPTH = 6  # folders below ROOT/videos; unpacked EPIC-Tents has four


@dataclass(frozen=True)
class Part:
    """One of the datasets that EgoProceL consists of.

    task     its one task; if recipes are tasks, the suffix of their names, as in Brownie.cmu
    folder   of its labels in the release; recipes, if any, are folders in it
    suffix   of its label files in the release
    aliases  other names of it, and of the usual folders of its videos
    camera   the egocentric one, if others have labels, too
    """

    group: str
    task: str
    folder: str
    suffix: str = ".csv"
    recipes: bool = False
    aliases: tuple[str, ...] = ()
    camera: str = ""

    def is_called(self, name: str) -> bool:
        """Return whether this is a name of the dataset."""
        names = (self.group, self.folder, self.task.removeprefix("."), *self.aliases)
        return name.casefold() in {known.casefold() for known in names}

    def owns(self, name: str) -> bool:
        """Return whether this is a name of the dataset or of one of its tasks."""
        return self.is_called(name) or (self.recipes and name.casefold().endswith(self.task))

    def tasks_in(self, folder: Path) -> dict[str, Path]:
        """Return the tasks with labels in a folder, and where; none if it is another dataset's."""
        if not self.owns(folder.name):
            return {}
        if not self.recipes:
            return {self.task: folder}
        if not self.is_called(folder.name):
            return {readable(folder.name): folder}
        return {f"{readable(recipe.name)}{self.task}": recipe for recipe in _folders_in(folder)}

    def recording_of(self, labels: Path) -> str:
        """Return the name of the recording that a label file belongs to."""
        suffix = self.suffix if labels.name.lower().endswith(self.suffix) else ".csv"
        return readable(labels.name[: -len(suffix)])

    def is_other_camera(self, recording: str) -> bool:
        """Return whether a name such as S07_Brownie_7150991-1431 has not the egocentric camera."""
        camera = re.search(r"_(\d{7})(?:-\d+)?$", recording)
        return bool(self.camera) and camera is not None and camera[1] != self.camera


PARTS = (
    Part("meccano", "meccano", "MECCANO", aliases=("MECCANO_RGB_Videos",)),
    Part(
        "epic-tents",
        "tent",
        "EPIC-Tents",
        ".egoprocel.ann.csv",
        aliases=("tents", "EPIC_Tents", "EpicTent", "EPIC-Tent"),
    ),
    Part("egtea", ".egtea", "EGTEA_Gaze+", recipes=True, aliases=("EGTEA-Gaze+", "EGTEA_Gaze")),
    Part("cmu-mmac", ".cmu", "CMU-MMAC", ".csv", True, ("CMU_MMAC", "CMU_Kitchens"), "7150991"),
    Part("pc-assembly", "pc_assembly", "pc_assembly"),
    Part("pc-disassembly", "pc_disassembly", "pc_disassembly"),
)


@dataclass(frozen=True)
class RecordingFiles:
    """The label file of a recording, and its video and features if they exist."""

    task: str
    part: Part
    name: str
    labels: Path
    video: Path | None = None
    features: Path | None = None

    @property
    def labels_only(self) -> bool:
        """Whether there is neither a video nor a feature file."""
        return self.video is None and self.features is None


def find_recordings(request: Request) -> list[RecordingFiles]:
    """Return the requested recordings that have labels, in the order of their names."""
    root = require(request.root / "annotations", "the folder of labels")
    folders = _find_tasks(root, request.problems)
    if not folders:
        raise DatasetMissingError(f"{root}: contains no folder of a task")
    requested = {
        task: folder for task, folder in sorted(folders.items()) if is_requested(task, request.task)
    }
    if not requested:
        known = dict.fromkeys([*(part.group for part, _ in folders.values()), *folders])
        raise DatasetError(
            f"{request.root}: no task {request.task!r}; known here: {', '.join(known)}"
        )
    recordings = [
        RecordingFiles(task, part, name, path)
        for task, (part, folder) in requested.items()
        for name, path in _labels_in(folder, part, request.problems).items()
    ]
    return _with_media(recordings, request.root, request.problems)


def is_requested(task: str, requested: str | None) -> bool:
    """Return whether a task is requested, by its own name or its dataset's; None requests all."""
    if requested is None or requested.casefold() == task.casefold():
        return True
    return any(part.owns(task) and part.is_called(requested) for part in PARTS)


def _find_tasks(root: Path, problems: Problems) -> dict[str, tuple[Part, Path]]:
    """Return the label folder of every task."""
    folders: dict[str, tuple[Part, Path]] = {}
    for folder in _folders_in(root):
        tasks = [(t, part, path) for part in PARTS for t, path in part.tasks_in(folder).items()]
        if not tasks and any(folder.rglob("*.csv")):
            known = ", ".join(part.folder for part in PARTS)
            problems.report(f"{folder}: is not part of EgoProceL; expected {known}")
        for task, part, path in tasks:
            if task in folders:
                problems.report(f"{path}: labels of {task} are also in {folders[task][1]}")
            else:
                folders[task] = part, path
    return folders


def _folders_in(folder: Path) -> list[Path]:
    inside = (path for path in folder.iterdir() if path.is_dir())
    return sorted(path for path in inside if not path.name.startswith("."))


def _labels_in(folder: Path, part: Part, problems: Problems) -> dict[str, Path]:
    """Return the label files of a task's egocentric recordings by name."""
    labels: dict[str, Path] = {}
    for inside in [folder, *_folders_in(folder)]:
        files = {part.recording_of(path): path for path in sorted(inside.glob("[!.]*.csv"))}
        own = {name: path for name, path in files.items() if not part.is_other_camera(name)}
        if files and not own:
            problems.report(f"{inside}: no labels of the egocentric camera ({part.camera})")
        labels |= own
    if not labels:
        problems.report(f"{folder}: contains no labels; expected NAME{part.suffix}")
    return dict(sorted(labels.items()))


def _with_media(
    recordings: Sequence[RecordingFiles], root: Path, problems: Problems
) -> list[RecordingFiles]:
    """Look up the videos and features of recordings."""
    folder = root / "videos"
    videos = _find_videos(folder, problems)
    completed = []
    for recording in recordings:
        name = recording.name
        video = _pick_video(recording.part, videos.get(name, ()), problems)
        paths = (root / "features" / recording.task / f"{name}{suffix}" for suffix in READERS)
        features = next((path for path in paths if path.is_file()), None)
        completed.append(replace(recording, video=video and folder / video, features=features))
    return completed


def _find_videos(folder: Path, problems: Problems) -> dict[str, list[Path]]:
    """Return videos by name, relative to `folder`; several folders may have the same name."""
    videos: dict[str, list[Path]] = {}

    def report(problem: OSError) -> None:
        if not isinstance(problem, FileNotFoundError):
            problems.report(f"{problem.filename}: cannot be opened ({problem.strerror})")

    for top, subfolders, names in os.walk(folder, onerror=report, followlinks=True):
        relative = Path(top).relative_to(folder)
        deeper = subfolders if len(relative.parts) < MAX_VIDEO_DEPTH else []
        subfolders[:] = [name for name in sorted(deeper) if not _is_ignored(Path(top) / name)]
        for path in (relative / name for name in sorted(names) if not name.startswith(".")):
            if path.suffix.lower() in VIDEO_SUFFIXES:
                videos.setdefault(readable(path.stem), []).append(path)
    return videos


def _is_ignored(folder: Path) -> bool:
    """Return whether a folder is hidden, or a link to a folder that contains it."""
    return folder.name.startswith(".") or folder.parent.resolve().is_relative_to(folder.resolve())


def _pick_video(part: Part, paths: Sequence[Path], problems: Problems) -> Path | None:
    """Pick the video of a dataset among those of one name, which other datasets may have, too."""
    others = [other for other in PARTS if other is not part]
    free = [
        path
        for path in paths
        if not any(other.owns(folder) for other in others for folder in path.parts[:-1])
    ]
    own = [path for path in free if any(part.owns(folder) for folder in path.parts[:-1])]
    picked = own or free
    if len(picked) > 1:
        names = " and ".join(readable(str(path)) for path in picked)
        problems.report(f"videos: {names} have the same name; expected one video per recording")
    return picked[0] if picked else None
