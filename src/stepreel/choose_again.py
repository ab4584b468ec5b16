"""Choose steps again from what an output folder keeps: nothing is decoded, nothing is learned.

out/<recording>/tuning/
  ─read_card, load_recording─▶  Recording, its embedding, its clustering
  ─decode─▶                     Clustering, only if other kinds of steps are asked for
  ─the rest of the pipeline─▶   KeySteps, Storyboard, page and exports
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stepreel.config import Settings, check_cue_choices, validated, without_retired
from stepreel.errors import ConstraintError, ModelError, SettingsError, StepreelError
from stepreel.learn.model import TaskModel, build_model, read_model
from stepreel.output import WrittenTask, write_task
from stepreel.pipeline import LearnedTask, find_task_steps, with_other_numbers
from stepreel.report.written_before import WrittenBefore
from stepreel.result import OtherNumber, Result
from stepreel.steps.decoders.base import Decision, Decoded, Takes
from stepreel.steps.decoders.catalog import (
    DECODERS,
    check_decoder,
    check_number_of_steps,
)
from stepreel.steps.decoders.decode import decode
from stepreel.storyboard.editing import STORYBOARD
from stepreel.storyboard.schema import read_storyboard
from stepreel.storyboard.titles import Titles
from stepreel.task import Task
from stepreel.tuning.card import KeptCard, KeptDecoding
from stepreel.tuning.keep import load_clusterings, load_embedding, load_recording
from stepreel.tuning.kept_takes import KeptTake, all_of_task
from stepreel.types import FeatureTrack, Progress, no_progress

AFTER_DECODING = {
    *("split_gap_seconds", "top", "budget_seconds", "sample", "background_seconds"),
    *("contains", "same", "different", "at_least"),
}
"""The key_steps.… settings that do not change which kind of step a moment belongs to."""

OTHERS_THAT_CAN_CHANGE = ("embed.cues", "loss.window_seconds", "train.seed")


@dataclass(frozen=True)
class TunedTask:
    """What was chosen again for recordings that were once looked at together.

    names     of these recordings
    decoded   whether other kinds of steps were looked for
    results   by position among `names`
    """

    names: list[str]
    decoded: bool
    results: Mapping[int, Result]
    written: WrittenTask


def tune_task(
    takes: Sequence[KeptTake],
    *,
    overrides: Mapping[str, object] | None = None,
    output: Path | None = None,
    titles: Titles | None = None,
    force: bool = False,
    progress: Progress = no_progress,
) -> TunedTask:
    """Choose the steps of recordings of one task again, with other settings, and write them.

    Kinds of steps are shared: where other kinds are looked for, all recordings of the task are
    written, also if only one of them was asked for.

    overrides  key_steps.… settings to change, above all; else those of the earlier run
    output     where to write instead of the folder of the earlier run
    titles     given by a person; otherwise those of kinds stay as long as the kinds do
    force      also overwrite storyboards that were edited by hand
    """
    overrides = overrides or {}
    if any(_finds_other_kinds(take.card, overrides) for take in takes):
        everyone = all_of_task(takes[0])
        settings = tuned_settings(takes[0].card, takes[0].card.main, overrides)
        results, model = _decode_again(everyone, settings, titles)
        return _write(everyone, results, model, True, output, force, progress)
    results = {
        position: _pick_all_again(take, overrides, titles) for position, take in enumerate(takes)
    }
    model = None if output is None else _model_of(takes[0])
    return _write(takes, results, model, False, output, force, progress)


def tuned_settings(
    card: KeptCard, decoding: KeptDecoding, overrides: Mapping[str, object]
) -> Settings:
    """Apply overrides to the settings of the earlier run; SettingsError says what cannot change."""
    values = without_retired(decoding.settings)
    assert isinstance(values, dict), "settings are an object"
    for name, value in overrides.items():
        group, _, field = name.partition(".")
        if group != "key_steps" and name not in OTHERS_THAT_CAN_CHANGE:
            raise SettingsError(
                f"{name} decides how recordings are read or learned, which tuning does not do "
                "again; use `stepreel run`"
            )
        values = {**values, group: {**values.get(group, {}), field: value}}
    settings = validated(values)
    check_cue_choices(settings, list(card.tracks))
    check_decoder(settings.key_steps.decoder)
    return settings


def _finds_other_kinds(card: KeptCard, overrides: Mapping[str, object]) -> bool:
    """Tell whether overrides change anything that labels of moments depend on."""
    before = tuned_settings(card, card.main, {})
    settings = tuned_settings(card, card.main, overrides)
    ignored = set(AFTER_DECODING)
    if card.of_model:  # the model's kinds were found; only asking for others looks for others
        ignored |= {"min_step_seconds", "background_ratio"}
    return (
        before.key_steps.model_dump(exclude=ignored)
        != settings.key_steps.model_dump(exclude=ignored)
        or before.embed != settings.embed
        or before.loss.window_seconds != settings.loss.window_seconds
        or before.train.seed != settings.train.seed
    )


def _decode_again(
    takes: Sequence[KeptTake], settings: Settings, titles: Titles | None
) -> tuple[dict[int, Result], TaskModel | None]:
    """Look for other kinds of steps in all recordings of a task."""
    name = settings.key_steps.decoder
    check_number_of_steps(settings.key_steps, len(takes))
    recordings = [load_recording(take.folder, take.card) for take in takes]
    loaded = [load_embedding(take.folder, take.card) for take in takes]
    embeddings = [track for track in loaded if track is not None]
    lacks_embedding = DECODERS[name].needs_embedding and len(embeddings) < len(takes)
    if lacks_embedding or (DECODERS[name].learns and len(takes) > 1):
        raise StepreelError(_would_learn(name, takes))
    known = embeddings if len(embeddings) == len(takes) else None
    decoded = decode(name, Takes(recordings, known, settings))
    learned = LearnedTask(known, decoded, [take.card.learning_notes for take in takes])
    task = Task(settings, dict(enumerate(recordings)), {})
    results = find_task_steps(task, learned, titles=titles or _kept_titles(takes, decoded))
    results = with_other_numbers(task, learned, results)
    return _with_earlier(results, takes), _tuned_model(takes[0], task, decoded)


def _would_learn(name: str, takes: Sequence[KeptTake]) -> str:
    """Say what to do for a decoder that would have to learn; tuning does not."""
    reason = "learns from the takes"
    if DECODERS[name].needs_embedding:
        reason = "needs a learned embedding, and none was learned here"
    files = " ".join(take.card.name for take in takes[:3]) + (" …" if len(takes) > 3 else "")
    plain = [
        other
        for other in DECODERS.own
        if not DECODERS[other].needs_embedding and not DECODERS[other].learns
    ]
    return (
        f"the decoder {name} {reason}, which tuning does not do; "
        f"`stepreel run {files} --decoder {name} -o {takes[0].folder.parent}` does. Decoders that "
        f"do not learn: {', '.join(plain)}"
    )


def _kept_titles(takes: Sequence[KeptTake], decoded: Decoded) -> Titles | None:
    """Return titles of kinds that a person gave, if these are the same kinds."""
    card = takes[0].card
    is_same = decoded.clusterings[0].clustering_id == card.main.clustering_id != ""
    if not is_same or not card.titles:
        return None
    return Titles(kinds=card.titles, n_recordings=len(takes))


def _pick_all_again(
    take: KeptTake, overrides: Mapping[str, object], titles: Titles | None
) -> Result:
    """Choose the steps of one recording again from the kinds it has, in every number it has."""
    card = take.card
    recording = load_recording(take.folder, card)
    embedding = load_embedding(take.folder, card)
    kept_titles = Titles(kinds=card.titles, n_recordings=len(card.task)) if card.titles else None
    results: list[tuple[KeptDecoding, Result]] = []
    for decoding in card.decodings:
        settings = tuned_settings(card, decoding, overrides)
        task = Task(settings, {0: recording}, {})
        learned = _learned_before(take, decoding, embedding)
        own_titles = titles or (kept_titles if decoding is card.main else None)
        try:
            (result,) = find_task_steps(task, learned, titles=own_titles).values()
        except ConstraintError:  # what was demanded cannot be met in this number
            if decoding is card.main:
                raise
            continue
        assert result.together is not None, "steps were looked for"
        names = tuple(zip(card.task_names, card.task, strict=True))
        together = replace(result.together, recordings=names)
        results.append((decoding, replace(result, together=together)))
    (_, main), *others = results
    numbers = tuple(OtherNumber(kept.label, kept.option, result) for kept, result in others)
    return _with_earlier({0: replace(main, other_numbers=numbers)}, [take])[0]


def _learned_before(
    take: KeptTake, decoding: KeptDecoding, embedding: FeatureTrack | None
) -> LearnedTask:
    clustering, *again = load_clusterings(take.folder, take.card, decoding)
    facts = decoding.decision
    decoded = Decoded(
        [clustering],
        again=(lambda number: [again[number]]) if again else None,
        used=decoding.decoder,
        decision=None
        if facts is None
        else Decision(facts.sentence, facts.figures, facts.found_structure),
    )
    return LearnedTask(
        None if embedding is None else [embedding],
        decoded,
        [take.card.learning_notes],
        of_model=take.card.of_model,
    )


def _with_earlier(results: Mapping[int, Result], takes: Sequence[KeptTake]) -> dict[int, Result]:
    """Let results play the same video as the storyboards they replace."""
    return {
        position: replace(result, written_before=_written_before(takes[position].folder))
        for position, result in results.items()
    }


def _written_before(folder: Path) -> WrittenBefore | None:
    try:
        return WrittenBefore(folder, read_storyboard(folder / STORYBOARD))
    except StepreelError:  # removed, or broken by an edit: then its video is provided as in a run
        return None


def _model_of(take: KeptTake) -> TaskModel | None:
    """Return the model beside a recording's folder, if it knows these kinds of steps."""
    try:
        model = read_model(take.folder.absolute().parent)
    except ModelError:
        return None
    return model if model.clustering_id == take.card.main.clustering_id else None


def _tuned_model(take: KeptTake, task: Task, decoded: Decoded) -> TaskModel | None:
    """Return what finds the new kinds of steps again; the encoder is that of the earlier model."""
    earlier = _model_of(take)
    needs_encoder = DECODERS[decoded.used].needs_embedding
    has_encoder = earlier is not None and bool(earlier.weights)
    if not decoded.kinds or (needs_encoder and not has_encoder):
        return None
    decision = decoded.decision
    model = build_model(
        list(task.recordings.values()),
        task.settings,
        None,
        decoded.kinds,
        n_clusters=decoded.clusterings[0].n_clusters,
        decoder=decoded.used,
        how_found=decision.sentence if decision else "",
        found_structure=decision.found_structure if decision else None,
    )
    if earlier is None or not earlier.weights:
        return model
    learned = {"epochs": earlier.card.epochs, "loss": earlier.card.loss}
    return replace(model, card=model.card.model_copy(update=learned), weights=earlier.weights)


def _write(
    takes: Sequence[KeptTake],
    results: Mapping[int, Result],
    model: TaskModel | None,
    decoded: bool,
    output: Path | None,
    force: bool,
    progress: Progress,
) -> TunedTask:
    parent = takes[0].folder.parent if output is None else output
    names = [take.card.name for take in takes]
    written = write_task(
        results,
        parent,
        model=model,
        keep_model=not decoded,
        names=names,
        failures={},
        folders={position: parent / take.folder.name for position, take in enumerate(takes)},
        force=force,
        progress=progress,
    )
    return TunedTask(names, decoded, results, written)
