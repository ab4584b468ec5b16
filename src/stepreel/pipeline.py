"""READ FIRST: the whole line, from recordings of one task to their storyboards.

    video, feature file or arrays
      ─features─▶    Recording with one FeatureTrack per cue          load_task
      ─learn─▶       embedding, just another FeatureTrack,            learn_embeddings
                     if the decoder needs one
      ─steps─▶       Clustering ─▶ KeySteps                           decode, pick_key_steps,
                     with their confidence, which are shown,          rate_steps, sample_steps,
                     what explains them, and in other numbers         explain_steps, …
      ─storyboard─▶  Storyboard                                       Result.storyboard
      ─report─▶      page and exports                                 write_task, Result.write

Every stage is a package that takes what the one before returns. A run ends with a storyboard per
recording and a model, which finds the same steps in later recordings. The default decoder, `auto`,
needs no embedding: then none is learned. The paper's, `kmeans`, does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from stepreel.config import Settings
from stepreel.errors import ConstraintError
from stepreel.features.sources import FeatureReading, Source, source_name
from stepreel.learn.embeddings import learn_embeddings
from stepreel.learn.model import TaskModel, TrainedWeights, build_model
from stepreel.output import WrittenTask, write_task
from stepreel.report.video import VideoChoice
from stepreel.result import OtherNumber, Result, Together
from stepreel.steps.confidence import rate_steps
from stepreel.steps.constraints import (
    check_constraints,
    check_shown,
    check_steps_fit,
    constrained,
    without_constraints,
)
from stepreel.steps.decoders.base import Decoded, Takes
from stepreel.steps.decoders.catalog import DECODERS, check_number_of_steps
from stepreel.steps.decoders.decode import decode, find_kinds_again
from stepreel.steps.evidence import TaskSteps
from stepreel.steps.explanations import explain_steps
from stepreel.steps.key_steps import pick_key_steps
from stepreel.steps.samplers.sample import sample_steps
from stepreel.storyboard.titles import Titles
from stepreel.system.cores import one_thread
from stepreel.system.machine import Device
from stepreel.system.store import Store
from stepreel.task import Task, load_task
from stepreel.types import FeatureTrack, Progress, no_progress

if TYPE_CHECKING:
    from stepreel.learn.training import OnCheckpoint

__all__ = ["FeatureReading", "Store", "Task", "find_task_steps", "learn_task", "load_task", "run"]


@dataclass(frozen=True)
class TaskRun:
    """What was found in every recording, and what was written; by position among the sources.

    failures  why a source gave no storyboard
    written   None if there was no output folder
    """

    results: Mapping[int, Result]
    failures: Mapping[int, str]
    written: WrittenTask | None


def run(
    sources: Sequence[Source],
    store: Store,
    *,
    preset: str | None = None,
    overrides: Mapping[str, object] | None = None,
    model: TaskModel | None = None,
    reading: FeatureReading | None = None,
    output: Path | None = None,
    titles: Titles | None = None,
    force: bool = False,
    video: VideoChoice = "link",
    device: Device = "auto",
    progress: Progress = no_progress,
    on_loaded: Callable[[Task], None] = lambda task: None,
) -> TaskRun:
    """Find the key steps of all recordings of one task; write them below `output`, if given.

    With a `model`, its kinds of steps are found again in these recordings.

    titles     of kinds of steps, or of single steps, given by a person
    force      also overwrite storyboards that were edited by hand
    video      what the pages play
    on_loaded  called when the sources have been loaded, before steps are looked for
    """
    task = load_task(
        sources,
        store,
        preset=preset,
        overrides=overrides,
        model=model,
        reading=reading,
        output=output,
        progress=progress,
    )
    on_loaded(task)
    if not task.recordings:
        return TaskRun({}, task.failures, None)
    learned = learn_task(task, store, model=model, device=device, progress=progress)
    results = find_task_steps(task, learned, titles=titles)
    results = with_other_numbers(task, learned, results)
    if output is None:
        return TaskRun(results, task.failures, None)
    written = write_task(
        results,
        output,
        model=learned.model,
        keep_model=model is not None,
        names=[source_name(source) for source in sources],
        failures=task.failures,
        force=force,
        video=video,
        progress=progress,
    )
    return TaskRun(results, {**task.failures, **written.failures}, written)


@dataclass(frozen=True)
class LearnedTask:
    """A task's recordings labelled; lists are in the order of its recordings.

    embeddings  None where no embedding was needed
    notes       what a reader should know about how each recording was learned
    model       what was learned; None with an earlier model, and if nothing can be found again
    of_model    whether kinds of an earlier model were found again
    """

    embeddings: list[FeatureTrack] | None
    decoded: Decoded
    notes: list[list[str]]
    model: TaskModel | None = None
    of_model: bool = False


def learn_task(
    task: Task,
    store: Store,
    *,
    model: TaskModel | None = None,
    device: Device = "auto",
    progress: Progress = no_progress,
    on_checkpoint: OnCheckpoint | None = None,
) -> LearnedTask:
    """Label a task's recordings, which are embedded first if the decoder needs that."""
    recordings = list(task.recordings.values())
    nothing_to_note: list[list[str]] = [[] for _ in recordings]
    if model is not None:
        asked = task.settings.key_steps.model_copy(update={"decoder": model.card.decoder})
        check_number_of_steps(asked, len(recordings), of_model=True)
        embeddings = None
        if model.weights:
            from stepreel.learn.inference import embed_with_model

            embeddings = list(embed_with_model(model, recordings, device=device))
        takes = Takes(recordings, embeddings, task.settings)
        decoded = find_kinds_again(model, takes)
        return LearnedTask(embeddings, decoded, nothing_to_note, of_model=True)
    name = task.settings.key_steps.decoder
    check_number_of_steps(task.settings.key_steps, len(recordings))
    decoder = DECODERS[name]
    if not decoder.needs_embedding:
        decoded = decode(name, Takes(recordings, None, task.settings))
        return LearnedTask(None, decoded, nothing_to_note, model_of_kinds(task, decoded, None))
    learned = learn_embeddings(
        recordings,
        task.settings,
        store,
        device=device,
        progress=progress,
        on_checkpoint=on_checkpoint,
    )
    decoded = decode(name, Takes(recordings, learned.tracks, task.settings))
    return LearnedTask(
        learned.tracks, decoded, learned.notes, model_of_kinds(task, decoded, learned.training)
    )


def model_of_kinds(
    task: Task, decoded: Decoded, training: TrainedWeights | None
) -> TaskModel | None:
    """Return what finds the same kinds of steps in later takes; None if nothing can."""
    if not decoded.kinds:
        return None
    decision = decoded.decision
    return build_model(
        list(task.recordings.values()),
        task.settings,
        training,
        decoded.kinds,
        n_clusters=decoded.clusterings[0].n_clusters,
        decoder=decoded.used,
        how_found=decision.sentence if decision else "",
        found_structure=decision.found_structure if decision else None,
    )


def find_task_steps(
    task: Task, learned: LearnedTask, *, titles: Titles | None = None
) -> dict[int, Result]:
    """Pick the key steps of every recording from its clusters, and rate how reliable they are."""
    recordings = list(task.recordings.values())
    clusterings = learned.decoded.clusterings
    choice = task.settings.key_steps
    check_constraints(choice, len(recordings))
    for recording in recordings:
        check_steps_fit(choice, recording)
    picked = [
        pick_key_steps(clustering, choice, moment_seconds=recording.moment_seconds)
        for clustering, recording in zip(clusterings, recordings, strict=True)
    ]
    task_steps = TaskSteps(recordings, learned.decoded.again, picked, task.settings)
    with one_thread("blas"):
        rated = rate_steps(task_steps)
    shown = []
    for position, recording in enumerate(recordings):
        features = partial(task_steps.features, position)
        demanded = constrained(rated[position], clusterings[position], recording, choice, features)
        sampled = sample_steps(demanded.key_steps, recording, choice, features, demanded.required)
        check_shown(sampled, recording, choice)
        shown.append(explain_steps(sampled, task_steps, position))
    embeddings: Sequence[FeatureTrack | None] = learned.embeddings or [None] * len(recordings)
    names = tuple((recording.name, recording.fingerprint) for recording in recordings)
    together = [
        Together(names, learned.decoded.used, learned.of_model, again)
        for again in task_steps.known_again
    ]
    parts = zip(
        task.recordings.items(),
        embeddings,
        clusterings,
        shown,
        learned.notes,
        together,
        strict=True,
    )
    return {
        position: Result(
            recording=recording,
            clustering=clustering,
            key_steps=key_steps,
            settings=task.settings,
            embedding_track=embedding,
            decision=learned.decoded.decision,
            learning_notes=tuple(notes),
            titles=titles,
            together=own,
        )
        for (position, recording), embedding, clustering, key_steps, notes, own in parts
    }


@dataclass(frozen=True)
class OtherDecoding:
    """The same recordings in another natural number of steps; see `OtherNumber`."""

    label: str
    option: str
    settings: Settings
    decoded: Decoded


def other_decodings(task: Task, learned: LearnedTask) -> list[OtherDecoding]:
    """Decode in other natural numbers of steps; none if a certain number was asked for."""
    choice = task.settings.key_steps
    if learned.of_model or choice.n_clusters is not None or choice.n_steps is not None:
        return []
    recordings = list(task.recordings.values())
    counts = learned.decoded.counts
    field, option = ("n_steps", "--steps") if counts == "steps" else ("n_clusters", "--clusters")
    others = []
    for number in learned.decoded.other_numbers:
        value = (number, number) if counts == "steps" else number
        key_steps = choice.model_copy(update={field: value})
        settings = task.settings.model_copy(update={"key_steps": key_steps})
        decoded = decode(choice.decoder, Takes(recordings, learned.embeddings, settings))
        others.append(OtherDecoding(f"{number} {counts}", f"{option} {number}", settings, decoded))
    return others


def with_other_numbers(
    task: Task, learned: LearnedTask, results: Mapping[int, Result]
) -> dict[int, Result]:
    """Add what other natural numbers of steps give."""
    numbers: dict[int, list[OtherNumber]] = {position: [] for position in results}
    for other in other_decodings(task, learned):
        found = find_other_number(
            replace(task, settings=other.settings), replace(learned, decoded=other.decoded)
        )
        for position, (result, is_met) in found.items():
            numbers[position].append(OtherNumber(other.label, other.option, result, is_met))
    return {
        position: replace(result, other_numbers=tuple(numbers[position]))
        for position, result in results.items()
    }


def find_other_number(task: Task, learned: LearnedTask) -> dict[int, tuple[Result, bool]]:
    """Return results in another number, and whether what was demanded of the steps is met.

    If it is not, they are as if nothing were demanded: kept, but not shown.
    """
    try:
        results = find_task_steps(task, learned)
    except ConstraintError:
        free = without_constraints(task.settings)
        results = find_task_steps(replace(task, settings=free), learned)
        return {p: (replace(r, settings=task.settings), False) for p, r in results.items()}
    return {position: (result, True) for position, result in results.items()}
