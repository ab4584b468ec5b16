"""Choose the steps of one take again, in every number that is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stepreel.config import Settings
from stepreel.errors import StepreelError
from stepreel.pipeline import LearnedTask, OtherDecoding, find_other_number, find_task_steps
from stepreel.report.written_before import WrittenBefore
from stepreel.result import OtherNumber, Result, Together
from stepreel.steps.decoders.base import Decision, Decoded
from stepreel.steps.decoders.kmeans import trimmed
from stepreel.storyboard.editing import STORYBOARD
from stepreel.storyboard.schema import read_storyboard
from stepreel.storyboard.titles import Titles
from stepreel.task import Task
from stepreel.tuning.card import KeptDecoding
from stepreel.tuning.kept_takes import KeptTake
from stepreel.types import Clustering, FeatureTrack, Recording


@dataclass(frozen=True)
class TakeDecoding:
    """What was decoded in one take, and the settings to choose its steps with.

    label, option  of another number of steps; empty for the main one
    """

    settings: Settings
    decoded: Decoded
    label: str = ""
    option: str = ""


def result_of_take(
    take: KeptTake,
    recording: Recording,
    embedding: FeatureTrack | None,
    decodings: Sequence[TakeDecoding],
    *,
    titles: Titles | None,
    of_model: bool,
) -> Result:
    """Choose the steps of one take; the first decoding is what its storyboard shows.

    titles  of the first decoding's kinds
    """
    card = take.card
    together = tuple(zip(card.task_names, card.task, strict=True))

    def learned(decoding: TakeDecoding) -> LearnedTask:
        tracks = None if embedding is None else [embedding]
        notes = [card.learning_notes]
        return LearnedTask(tracks, decoding.decoded, notes, of_model=of_model)

    def complete(result: Result) -> Result:
        assert isinstance(result.together, Together), "steps were looked for"
        return replace(result, together=replace(result.together, recordings=together))

    main, *others = decodings
    task = Task(main.settings, {0: recording}, {})
    result = complete(find_task_steps(task, learned(main), titles=titles)[0])
    numbers = []
    for other in others:
        own = Task(other.settings, {0: recording}, {})
        found, is_met = find_other_number(own, learned(other))[0]
        numbers.append(OtherNumber(other.label, other.option, complete(found), is_met))
    return replace(
        result, other_numbers=tuple(numbers), written_before=_written_before(take.folder)
    )


def decoded_before(
    clusterings: Sequence[Clustering], decoding: KeptDecoding, settings: Settings
) -> TakeDecoding:
    """Return what an earlier run decoded in a take, to choose from with some settings."""
    clustering, *again = (_trimmed_again(one, decoding, settings) for one in clusterings)
    facts = decoding.decision
    decision = None
    if facts is not None:
        decision = Decision(facts.sentence, facts.figures, facts.found_structure)
    decoded = Decoded(
        [clustering],
        again=(lambda number: [again[number]]) if again else None,
        used=decoding.decoder,
        decision=decision,
    )
    return TakeDecoding(settings, decoded, decoding.label, decoding.option)


def _trimmed_again(
    clustering: Clustering, decoding: KeptDecoding, settings: Settings
) -> Clustering:
    """Trim with another α, which needs no decoding; only k-means trims."""
    if decoding.decoder != "kmeans":
        return clustering
    return replace(clustering, uncertain=trimmed(clustering, settings.key_steps.background_ratio))


def part_of(decoded: Decoded, number: int) -> Decoded:
    """Return what was decoded in one of several takes."""
    again = decoded.again
    return replace(
        decoded,
        clusterings=[decoded.clusterings[number]],
        again=None if again is None else (lambda seed: [again(seed)[number]]),
    )


def part_of_other(other: OtherDecoding, number: int, settings: Settings) -> TakeDecoding:
    """Return another number of steps in one of several takes."""
    return TakeDecoding(settings, part_of(other.decoded, number), other.label, other.option)


def _written_before(folder: Path) -> WrittenBefore | None:
    try:
        return WrittenBefore(folder, read_storyboard(folder / STORYBOARD))
    except StepreelError:  # removed, or broken by an edit: then its video is provided as in a run
        return None
