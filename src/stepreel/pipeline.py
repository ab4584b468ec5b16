"""READ FIRST: the whole line, from recordings of one task to their storyboards.

    video, feature file or arrays ─features─▶ Recording with FeatureTracks
    ─learn─▶ embedding, just another FeatureTrack ─steps─▶ Clustering ─▶ KeySteps
    ─storyboard─▶ Storyboard ─report─▶ page and exports

Every stage is a package that takes what the one before returns. A run ends with a storyboard per
recording and the trained model, which finds the same steps in later recordings without learning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from stepreel.config import Settings
from stepreel.cues import make_cues
from stepreel.errors import OutputError, StoreError
from stepreel.features.sources import (
    FeatureReading,
    Source,
    are_features,
    extract_recordings,
    read_feature_sources,
)
from stepreel.learn.embeddings import learn_embeddings
from stepreel.learn.model import (
    FOLDER,
    TaskModel,
    TrainedWeights,
    build_model,
    check_extractors,
    check_fits,
    write_model,
)
from stepreel.learn.task_settings import resolve_model_settings, resolve_settings
from stepreel.report import write_index
from stepreel.result import Result
from stepreel.steps.grouping import GroupedMoments, group_moments
from stepreel.steps.key_steps import find_steps
from stepreel.storyboard.folders import name_folders
from stepreel.storyboard.schema import Storyboard
from stepreel.system.files import check_writable
from stepreel.system.machine import Device
from stepreel.system.store import Store
from stepreel.types import FeatureTrack, Progress, Recording, no_progress

if TYPE_CHECKING:
    from stepreel.learn.training import OnCheckpoint


@dataclass(frozen=True)
class Task:
    """Recordings of one task with their tracks, and the settings to work on them with.

    recordings, failures  by position among the sources
    """

    settings: Settings
    recordings: Mapping[int, Recording]
    failures: Mapping[int, str]


@dataclass(frozen=True)
class LearnedTask:
    """What is known of a task before steps are picked; `training` is None with a trained model."""

    embeddings: list[FeatureTrack]
    grouped: GroupedMoments
    training: TrainedWeights | None
    notes: list[list[str]]

    def model(self, task: Task) -> TaskModel | None:
        """Return what was learned as a model; None if nothing was."""
        if self.training is None:
            return None
        recordings = list(task.recordings.values())
        return build_model(recordings, task.settings, self.training, self.grouped.centres)


@dataclass(frozen=True)
class TaskResult:
    """What was found in every recording, or why nothing was; by position among the sources."""

    results: Mapping[int, Result]
    failures: Mapping[int, str]
    model: TaskModel | None


def open_task(
    sources: Sequence[Source],
    store: Store,
    *,
    preset: str | None = None,
    overrides: Mapping[str, object] | None = None,
    model: TaskModel | None = None,
    reading: FeatureReading | None = None,
    output: Path | None = None,
    progress: Progress = no_progress,
) -> Task:
    """Resolve settings, then read features or extract them from videos.

    SettingsError says what is wrong with the settings; a source that cannot be read is a failure
    of its own.

    output  where results will be written, if they will; checked before any long work
    """
    check = None if model is None else partial(check_fits, model)
    if are_features(sources):
        reading = reading or FeatureReading()
        if model is not None:
            reading = replace(reading, cues=list(model.card.cues))
        loaded = read_feature_sources(sources, reading, check=check)
        cues = [cue for one in list(loaded.recordings.values())[:1] for cue in one.tracks]
        if model is not None:
            settings = resolve_model_settings(model, overrides, preset=preset, for_videos=False)
        else:
            settings = resolve_settings(preset, overrides, feature_cues=cues)
        if output is not None and loaded.recordings:
            check_writable(output)
        return Task(settings, loaded.recordings, loaded.failures)
    if model is not None:
        settings = resolve_model_settings(model, overrides, preset=preset)
        cues_here = make_cues(settings.extract.cues)
        check_extractors(model, {cue.name: cue.settings() for cue in cues_here})
    else:
        settings = resolve_settings(preset, overrides)
    if output is not None:
        check_writable(output)
    paths = [source for source in sources if isinstance(source, Path)]
    loaded = extract_recordings(paths, settings.extract, store, check=check, progress=progress)
    return Task(settings, loaded.recordings, loaded.failures)


def learn_task(
    task: Task,
    store: Store,
    *,
    model: TaskModel | None = None,
    device: Device = "auto",
    progress: Progress = no_progress,
    on_checkpoint: OnCheckpoint | None = None,
) -> LearnedTask:
    """Embed and cluster a task's recordings: learned together, or as a model knows them."""
    recordings = list(task.recordings.values())
    if model is not None:
        from stepreel.learn.inference import embed_with_model

        embeddings = list(embed_with_model(model, recordings, device=device))
        grouped = group_moments(embeddings, recordings, task.settings, centres=model.centres)
        return LearnedTask(embeddings, grouped, None, [[] for _ in recordings])
    learned = learn_embeddings(
        recordings,
        task.settings,
        store,
        device=device,
        progress=progress,
        on_checkpoint=on_checkpoint,
    )
    grouped = group_moments(learned.tracks, recordings, task.settings)
    return LearnedTask(learned.tracks, grouped, learned.training, learned.notes)


def run_task(
    task: Task,
    store: Store,
    *,
    model: TaskModel | None = None,
    device: Device = "auto",
    progress: Progress = no_progress,
) -> TaskResult:
    """Find the key steps of all recordings of a task.

    With a `model` nothing is learned: its kinds of steps are found again in these recordings.
    """
    if not task.recordings:
        return TaskResult({}, task.failures, None)
    learned = learn_task(task, store, model=model, device=device, progress=progress)
    results = {}
    for number, (position, recording) in enumerate(task.recordings.items()):
        clustering = learned.grouped.clusterings[number]
        results[position] = Result(
            recording=recording,
            clustering=clustering,
            key_steps=find_steps(
                clustering, task.settings.key_steps, moment_seconds=recording.moment_seconds
            ),
            settings=task.settings,
            embedding_track=learned.embeddings[number],
            learning_notes=tuple(learned.notes[number]),
        )
    return TaskResult(results, task.failures, learned.model(task))


@dataclass
class WrittenTask:
    """The storyboards that were written, their folders, and what could not be written.

    failures  by position, of recordings whose storyboard could not be written
    unsaved   why the model or the index could not be written, though the storyboards could
    """

    boards: dict[int, Storyboard] = field(default_factory=dict)
    folders: dict[int, Path] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    index: Path | None = None
    unsaved: list[str] = field(default_factory=list)


def write_task(result: TaskResult, output: Path, *, names: Sequence[str]) -> WrittenTask:
    """Write model, storyboards and, if there are several sources, an index below `output`.

    names  what to call the sources that failed
    """
    written = WrittenTask()
    recordings = {position: one.recording for position, one in result.results.items()}
    written.folders = name_folders(recordings, output)
    if result.model is not None:
        try:
            write_model(output / FOLDER, result.model)
        except OutputError as problem:
            written.unsaved.append(str(problem))
    for position, one in result.results.items():
        try:
            written.boards[position] = one.write(written.folders[position])
        except (OutputError, StoreError) as problem:
            written.failures[position] = str(problem)
    if len(names) > 1 and written.boards:
        failures = {**result.failures, **written.failures}
        failed = [(names[position], reason) for position, reason in sorted(failures.items())]
        boards = [(written.folders[p].name, board) for p, board in written.boards.items()]
        try:
            written.index = write_index(output, boards, failed=failed)
        except OutputError as problem:
            written.unsaved.append(str(problem))
    return written
