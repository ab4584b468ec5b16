"""Choose steps again from what an output folder keeps: nothing is decoded, nothing is learned.

out/<recording>/tuning/
  ─read_card, load_recording─▶  Recording, its embedding, its clustering
  ─decode─▶                     Clustering, only if other kinds of steps are asked for
  ─the rest of the pipeline─▶   KeySteps, Storyboard, page and exports
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stepreel.choose_in_take import (
    TakeDecoding,
    decoded_before,
    part_of,
    part_of_other,
    result_of_take,
)
from stepreel.config import (
    KeyStepSettings,
    Settings,
    check_cue_choices,
    put_setting,
    validated,
    without_retired,
)
from stepreel.errors import SettingsError, StepreelError
from stepreel.learn.model import TaskModel
from stepreel.output import WrittenTask, write_task
from stepreel.pipeline import LearnedTask, other_decodings
from stepreel.result import Result
from stepreel.steps.constraints import check_constraints
from stepreel.steps.decoders.base import Decoded, Takes
from stepreel.steps.decoders.catalog import (
    DECODERS,
    check_decoder,
    check_number_of_steps,
)
from stepreel.steps.decoders.decode import decode
from stepreel.steps.samplers.catalog import check_sampler
from stepreel.storyboard.titles import Titles
from stepreel.task import Task
from stepreel.tuned_model import model_of, tuned_model
from stepreel.tuning.card import KeptCard, KeptDecoding
from stepreel.tuning.kept_takes import KeptTake, all_of_task
from stepreel.tuning.load import load_kept
from stepreel.types import Progress, no_progress

AFTER_DECODING = {
    *("split_gap_seconds", "top", "budget_seconds", "sample", "background_seconds"),
    *("contains", "same", "different", "at_least"),
}
"""The key_steps.… settings that do not change which kind of step a moment belongs to."""

OF_ONE_RECORDING = frozenset({"key_steps.contains", "key_steps.same", "key_steps.different"})
OF_DECODERS_WITHOUT_EMBEDDING = ("embed.cues", "loss.window_seconds", "train.seed")
"""Other settings that can change, unless an embedding was learned with them and is looked at."""


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
    written, also if only one of them was asked for. What is chosen after that, such as how many
    steps are shown, is changed only in those that were asked for.

    overrides  key_steps.… settings to change, above all; else those of the earlier run
    output     where to write instead of the folder of the earlier run
    titles     given by a person; otherwise those of kinds stay as long as the kinds do
    force      also overwrite storyboards that were edited by hand
    """
    overrides = overrides or {}
    if OF_ONE_RECORDING & overrides.keys():
        asked_for = tuned_settings(takes[0].card, takes[0].card.main, overrides)
        check_constraints(asked_for.key_steps, len(takes))
    if any(_finds_other_kinds(take.card, overrides) for take in takes):
        everyone = all_of_task(takes[0])
        asked = {take.folder.name for take in takes}
        results, model = _decode_again(everyone, asked, overrides, titles)
        return _write(everyone, results, model, True, output, force, progress)
    results = {
        position: _choose_again(take, overrides, titles) for position, take in enumerate(takes)
    }
    model = None if output is None else model_of(takes[0])
    return _write(takes, results, model, False, output, force, progress)


def tuned_settings(
    card: KeptCard, decoding: KeptDecoding, overrides: Mapping[str, object]
) -> Settings:
    """Apply overrides to the settings of the earlier run; SettingsError says what cannot change."""
    values = without_retired(decoding.settings)
    assert isinstance(values, dict), "settings are an object"
    values = {group: dict(fields) for group, fields in values.items()}
    for name, value in overrides.items():
        put_setting(values, name, value)
        if not name.startswith("key_steps.") and name not in OF_DECODERS_WITHOUT_EMBEDDING:
            raise SettingsError(
                f"{name} decides how recordings are read or learned, which tuning does not do "
                "again; use `stepreel run`"
            )
    settings = validated(values)
    check_cue_choices(settings, list(card.tracks))
    check_decoder(settings.key_steps.decoder)
    check_sampler(settings.key_steps.sample)
    decoder = DECODERS[settings.key_steps.decoder]
    looks_at_embedding = decoder.needs_embedding or decoder.uses_embedding
    if card.embedding is not None and looks_at_embedding:
        for name in OF_DECODERS_WITHOUT_EMBEDDING:
            if name in overrides:
                raise SettingsError(
                    f"{name} decides what is learned, and the decoder "
                    f"{settings.key_steps.decoder} looks at what was learned here; use "
                    "`stepreel run`"
                )
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


def _choose_again(take: KeptTake, overrides: Mapping[str, object], titles: Titles | None) -> Result:
    """Choose the steps of one take again from the kinds it has."""
    kept = load_kept(take.folder, take.card)
    card = kept.card
    decodings = [
        decoded_before(clusterings, decoding, tuned_settings(card, decoding, overrides))
        for clusterings, decoding in zip(kept.clusterings, card.decodings, strict=True)
    ]
    kept_titles = Titles(kinds=card.titles, n_recordings=len(card.task)) if card.titles else None
    return result_of_take(
        KeptTake(take.folder, card),
        kept.recording,
        kept.embedding,
        decodings,
        titles=titles or kept_titles,
        of_model=card.of_model,
    )


def _decode_again(
    takes: Sequence[KeptTake],
    asked: Collection[str],
    overrides: Mapping[str, object],
    titles: Titles | None,
) -> tuple[dict[int, Result], TaskModel | None]:
    """Look for other kinds of steps in all takes of a task.

    asked  folders of the takes in which what is chosen after decoding changes, too
    """
    settings = tuned_settings(takes[0].card, takes[0].card.main, overrides)
    name = settings.key_steps.decoder
    check_number_of_steps(settings.key_steps, len(takes))
    kept = [load_kept(take.folder, take.card, clusterings=False) for take in takes]
    recordings = [one.recording for one in kept]
    loaded = [one.embedding for one in kept]
    embeddings = [track for track in loaded if track is not None]
    lacks_embedding = DECODERS[name].needs_embedding and len(embeddings) < len(takes)
    if lacks_embedding or (DECODERS[name].learns and len(takes) > 1):
        raise StepreelError(_would_learn(name, takes))
    known = embeddings if len(embeddings) == len(takes) else None
    decoded = decode(name, Takes(recordings, known, settings))
    learned = LearnedTask(known, decoded, [take.card.learning_notes for take in takes])
    task = Task(settings, dict(enumerate(recordings)), {})
    others = other_decodings(task, learned)
    own_titles = titles or _kept_titles(takes, decoded)
    results = {}
    for number, take in enumerate(takes):
        chosen = overrides if take.folder.name in asked else {}
        own = tuned_settings(take.card, take.card.main, chosen).key_steps
        results[number] = result_of_take(
            take,
            recordings[number],
            loaded[number],
            [
                TakeDecoding(_chosen_as(settings, own), part_of(decoded, number)),
                *(part_of_other(o, number, _chosen_as(o.settings, own)) for o in others),
            ],
            titles=own_titles,
            of_model=False,
        )
    return results, tuned_model(takes[0], task, decoded, known is not None)


def _chosen_as(settings: Settings, own: KeyStepSettings) -> Settings:
    """Return settings of a task with what is chosen in one take after decoding."""
    changes = {name: getattr(own, name) for name in AFTER_DECODING}
    key_steps = settings.key_steps.model_copy(update=changes)
    return settings.model_copy(update={"key_steps": key_steps})


def _would_learn(name: str, takes: Sequence[KeptTake]) -> str:
    """Say what to do for a decoder that would have to learn; tuning does not."""
    reason = "learns from the takes"
    if DECODERS[name].needs_embedding:
        reason = "needs a learned embedding, and none was learned here"
    paths = [take.folder / take.card.file for take in takes[:3] if take.card.file]
    files = shlex.join(os.path.normpath(path) for path in paths) + (" …" if len(takes) > 3 else "")
    output = shlex.quote(str(takes[0].folder.parent))
    plain = [
        other
        for other in DECODERS.own
        if not DECODERS[other].needs_embedding and not DECODERS[other].learns
    ]
    return (
        f"the decoder {name} {reason}, which tuning does not do; "
        f"`stepreel run --decoder {name} -o {output} -- {files}` does. Decoders that do not learn: "
        f"{', '.join(plain)}"
    )


def _kept_titles(takes: Sequence[KeptTake], decoded: Decoded) -> Titles | None:
    """Return titles of kinds that a person gave, if these are the same kinds."""
    card = takes[0].card
    is_same = decoded.clusterings[0].clustering_id == card.main.clustering_id != ""
    if not is_same or not card.titles:
        return None
    return Titles(kinds=card.titles, n_recordings=len(takes))


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
    is_elsewhere = parent.resolve() != takes[0].folder.parent.resolve()
    own = {position: parent / take.folder.name for position, take in enumerate(takes)}
    names = [take.card.name for take in takes]
    written = write_task(
        results,
        parent,
        model=model,
        keep_model=not decoded,
        names=names,
        failures={},
        folders=None if is_elsewhere else own,  # there may be others of these names elsewhere
        force=force,
        progress=progress,
    )
    return TunedTask(names, decoded, results, written)
