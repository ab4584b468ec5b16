"""Which files of EgoProceL are where: six datasets, each with a layout of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stepreel.errors import DatasetError, DatasetMissingError
from stepreel.evaluation.datasets.base import Request
from stepreel.evaluation.datasets.reading import VIDEOS, must_be_there
from stepreel.evaluation.truth.annotation import Problems
from stepreel.features.array_files import READERS
from stepreel.types import readable

DEEPEST_VIDEO = 6  # folders below ROOT/videos; those of EPIC-Tents lie four deep as unpacked


@dataclass(frozen=True)
class Part:
    """One of the datasets that EgoProceL is made of.

    task     its one task; where recipes are tasks, what follows their names, as in Brownie.cmu
    folder   of its labels in the release; recipes, if any, are folders in it
    suffix   of its labels in the release
    aliases  other names of it, and of folders that its videos usually lie in
    camera   the egocentric one, where others have labels, too
    """

    group: str
    task: str
    folder: str
    suffix: str = ".csv"
    recipes: bool = False
    aliases: tuple[str, ...] = ()
    camera: str = ""

    def is_called(self, name: str) -> bool:
        """Tell whether this is a name of the dataset."""
        names = (self.group, self.folder, self.task.removeprefix("."), *self.aliases)
        return name.casefold() in {one.casefold() for one in names}

    def owns(self, name: str) -> bool:
        """Tell whether this is a name of the dataset or of a task of it."""
        return self.is_called(name) or (self.recipes and name.casefold().endswith(self.task))

    def tasks_in(self, folder: Path) -> dict[str, Path]:
        """Return the tasks whose labels are in a folder, and where; none if it is of another."""
        if not self.owns(folder.name):
            return {}
        if not self.recipes:
            return {self.task: folder}
        if not self.is_called(folder.name):
            return {readable(folder.name): folder}
        return {f"{readable(one.name)}{self.task}": one for one in _folders_in(folder)}

    def name_of(self, labels: Path) -> str:
        """Return the name of the recording that a file is about."""
        suffix = self.suffix if labels.name.lower().endswith(self.suffix) else ".csv"
        return readable(labels.name[: -len(suffix)])

    def is_filmed_by_another(self, recording: str) -> bool:
        """Tell by a name such as S07_Brownie_7150991-1431 that it is not the egocentric camera."""
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
class Listed:
    """A recording that has labels, and what else there is of it."""

    task: str
    part: Part
    name: str
    labels: Path
    video: Path | None = None
    features: Path | None = None


def find_recordings(request: Request) -> list[Listed]:
    """Return the recordings that are asked for and have labels, in the order of their names."""
    root = must_be_there(request.root / "annotations", "the folder of labels")
    folders = _find_tasks(root, request.problems)
    if not folders:
        raise DatasetMissingError(f"{root}: holds no folder of a task")
    wanted = {task: at for task, at in sorted(folders.items()) if is_wanted(request, task)}
    if not wanted:
        known = dict.fromkeys([*(part.group for part, _ in folders.values()), *folders])
        raise DatasetError(
            f"{request.root}: no task {request.task!r}; known here: {', '.join(known)}"
        )
    recordings = [
        Listed(task, part, name, path)
        for task, (part, folder) in wanted.items()
        for name, path in _labels_in(folder, part, request.problems).items()
    ]
    return _with_media(recordings, request)


def is_wanted(request: Request, task: str) -> bool:
    """Tell whether a task is asked for, by its own name or its dataset's."""
    if request.task is None or request.task.casefold() == task.casefold():
        return True
    return any(part.owns(task) and part.is_called(request.task) for part in PARTS)


def _find_tasks(root: Path, problems: Problems) -> dict[str, tuple[Part, Path]]:
    """Return the folder of every task's labels."""
    found: dict[str, tuple[Part, Path]] = {}
    for folder in _folders_in(root):
        tasks = [(t, part, path) for part in PARTS for t, path in part.tasks_in(folder).items()]
        if not tasks and any(folder.rglob("*.csv")):
            known = ", ".join(part.folder for part in PARTS)
            problems.report(f"{folder}: is no part of EgoProceL; expected {known}")
        for task, part, path in tasks:
            if task in found:
                problems.report(f"{path}: labels of {task} are also in {found[task][1]}")
            else:
                found[task] = part, path
    return found


def _folders_in(folder: Path) -> list[Path]:
    return sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))


def _labels_in(folder: Path, part: Part, problems: Problems) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for take in [folder, *_folders_in(folder)]:
        files = {part.name_of(path): path for path in sorted(take.glob("[!.]*.csv"))}
        own = {name: path for name, path in files.items() if not part.is_filmed_by_another(name)}
        if files and not own:
            problems.report(f"{take}: no labels of the egocentric camera ({part.camera})")
        found |= own
    if not found:
        problems.report(f"{folder}: holds no labels; expected NAME{part.suffix}")
    return dict(sorted(found.items()))


def _with_media(recordings: Sequence[Listed], request: Request) -> list[Listed]:
    """Look up the videos and features of recordings."""
    folder = request.root / "videos"
    videos = _find_videos(folder, request.problems)
    found = []
    for one in recordings:
        video = _pick_video(one, videos.get(one.name, ()), request.problems)
        named = (request.root / "features" / one.task / f"{one.name}{end}" for end in READERS)
        features = next((path for path in named if path.is_file()), None)
        found.append(replace(one, video=video and folder / video, features=features))
    return found


def _find_videos(folder: Path, problems: Problems) -> dict[str, list[Path]]:
    """Return videos by name, relative to `folder`; several folders may have one of a name."""
    found: dict[str, list[Path]] = {}

    def complain(problem: OSError) -> None:
        if not isinstance(problem, FileNotFoundError):
            problems.report(f"{problem.filename}: cannot be looked into ({problem.strerror})")

    for at, inside, names in os.walk(folder, onerror=complain, followlinks=True):
        relative = Path(at).relative_to(folder)
        deeper = inside if len(relative.parts) < DEEPEST_VIDEO else []
        inside[:] = [name for name in sorted(deeper) if not _is_passed_over(Path(at) / name)]
        for path in (relative / name for name in sorted(names) if not name.startswith(".")):
            if path.suffix.lower() in VIDEOS:
                found.setdefault(readable(path.stem), []).append(path)
    return found


def _is_passed_over(folder: Path) -> bool:
    """Tell whether a folder is hidden, or a link to a folder that it lies in."""
    return folder.name.startswith(".") or folder.parent.resolve().is_relative_to(folder.resolve())


def _pick_video(one: Listed, there: Sequence[Path], problems: Problems) -> Path | None:
    """Pick a recording's video among those of its name, which other datasets may have, too."""
    others = [part for part in PARTS if part is not one.part]
    free = [
        path
        for path in there
        if not any(part.owns(folder) for part in others for folder in path.parts[:-1])
    ]
    own = [path for path in free if any(one.part.owns(folder) for folder in path.parts[:-1])]
    picked = own or free
    if len(picked) > 1:
        names = " and ".join(readable(str(path)) for path in picked)
        problems.report(f"videos: {names} have the same name; expected one video per recording")
    return picked[0] if picked else None
