"""READ FIRST: the whole line, from recordings of one task to their storyboards.

    Recording ─cues─▶ FeatureTrack ─learning─▶ embedding ─cluster, pauses─▶ Clustering
                                    Storyboard ◀─assemble─ KeySteps ◀─keysteps─┘

Every room takes what the one before hands on; an embedding is just another FeatureTrack. What
leaves the house is a storyboard per recording, and the trained model, with which the same steps
are found in later takes without learning anything anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stepreel.config import Settings
from stepreel.cues import make_cues
from stepreel.errors import ModelError, OutputError, RecordingError, StoreError
from stepreel.features.array_files import holds_features
from stepreel.features.extraction import Extraction, extract_tracks
from stepreel.learn.embeddings import learning_notes, recall_training
from stepreel.learn.model import FOLDER, TaskModel, check_extractors, check_fits, write_model
from stepreel.report import write_index, write_report
from stepreel.steps.grouping import learn_task
from stepreel.steps.key_steps import find_steps
from stepreel.storyboard.assemble import assemble_storyboard
from stepreel.storyboard.folders import name_folders
from stepreel.storyboard.schema import Storyboard
from stepreel.system.machine import Device
from stepreel.system.store import Store
from stepreel.types import Clustering, Floats, Progress, no_progress, readable
from stepreel.video.decode import probe


@dataclass
class TaskResult:
    """What became of every recording: a storyboard, or the reason why there is none.

    index    the page that shows them all, where there is one
    unsaved  why the model or the index could not be written, though the storyboards could
    """

    boards: dict[Path, Storyboard] = field(default_factory=dict)
    folders: dict[Path, Path] = field(default_factory=dict)
    failures: dict[Path, str] = field(default_factory=dict)
    index: Path | None = None
    unsaved: list[str] = field(default_factory=list)


def run_task(
    paths: Sequence[Path],
    settings: Settings,
    store: Store,
    *,
    output: Path | None = None,
    model: TaskModel | None = None,
    device: Device = "auto",
    progress: Progress = no_progress,
) -> TaskResult:
    """Find the key steps of all recordings of one task; write them below `output` if given.

    With a `model` nothing is learned: its kinds of steps are found again in these recordings.
    """
    result = TaskResult()
    extractions, result.failures = watch_recordings(
        paths, settings, store, model=model, progress=progress
    )
    if not extractions:
        return result
    recordings = list(extractions.values())
    task = learn_task(recordings, settings, store, model=model, device=device, progress=progress)
    if output is not None:
        result.folders = name_folders(list(extractions), output)
        if model is None:
            _write_model(output, recordings, settings, store, task.centres, result)
    notes = learning_notes([one.times for one in recordings], settings)
    for number, (path, extraction) in enumerate(extractions.items()):
        try:
            result.boards[path] = _tell(
                extraction,
                task.clusterings[number],
                settings,
                result.folders.get(path),
                notes[number] if model is None else [],
            )
        except (OutputError, StoreError) as problem:
            result.failures[path] = str(problem)
    if output is not None and len(paths) > 1 and result.boards:
        _write_index(output, result)
    return result


def _write_model(
    output: Path,
    recordings: Sequence[Extraction],
    settings: Settings,
    store: Store,
    centres: Floats,
    result: TaskResult,
) -> None:
    try:
        training = recall_training(recordings, settings, store)
        write_model(output / FOLDER, recordings, settings, training, centres)
    except OutputError as problem:
        result.unsaved.append(str(problem))


def _write_index(output: Path, result: TaskResult) -> None:
    boards = [(result.folders[path].name, board) for path, board in result.boards.items()]
    failed = [(path.name, reason) for path, reason in result.failures.items()]
    try:
        write_index(output, boards, failed=failed)
        result.index = output / "index.html"
    except OutputError as problem:
        result.unsaved.append(str(problem))


def watch_recordings(
    paths: Sequence[Path],
    settings: Settings,
    store: Store,
    *,
    model: TaskModel | None = None,
    progress: Progress = no_progress,
) -> tuple[dict[Path, Extraction], dict[Path, str]]:
    """Extract the tracks of every recording that can be used; say why the others cannot."""
    cues = make_cues(settings.extract.cues)
    if model is not None:
        check_extractors(model, {cue.name: cue.settings() for cue in cues})
    extractions, failures = {}, {}
    for number, path in enumerate(paths, start=1):
        of_how_many = f" {number}/{len(paths)}" if len(paths) > 1 else ""

        def tell(what: str, done: float, total: float, suffix: str = of_how_many) -> None:
            progress(what + suffix, done, total)

        try:
            if holds_features(path):
                raise RecordingError(
                    f"{readable(path.name)}: holds features, no pictures to show; "
                    "`stepreel train` and `stepreel embed` take such files"
                )
            extraction = extract_tracks(
                probe(path),
                cues,
                store,
                rate=settings.extract.moments_per_second,
                shard_seconds=settings.extract.shard_seconds,
                progress=tell,
            )
            if model is not None:
                check_fits(model, extraction)
            extractions[path] = extraction
        except (RecordingError, StoreError, ModelError) as problem:
            failures[path] = str(problem)
    return extractions, failures


def _tell(
    extraction: Extraction,
    clustering: Clustering,
    settings: Settings,
    folder: Path | None,
    notes: Sequence[str],
) -> Storyboard:
    """Pick the key steps of one recording and, with a folder, write its storyboard there."""
    found = find_steps(clustering, settings.key_steps, moment_seconds=extraction.moment_seconds)
    strip, strip_jpeg = extraction.previews.strip(extraction.times) if folder else (None, None)
    board = assemble_storyboard(
        extraction,
        clustering,
        found,
        settings,
        folder=folder,
        strip=strip,
        notes=notes,
    )
    if folder is not None:
        pictures = {
            index: extraction.previews.jpeg(segment.nearest)
            for index, segment in enumerate(found.segments, start=1)
        }
        write_report(board, folder, pictures=pictures, strip=strip_jpeg)
    return board
