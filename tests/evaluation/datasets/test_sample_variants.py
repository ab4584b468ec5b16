"""Takes of the sample task with known departures: from true labels, exactly those are found."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from boards import make_board

from stepreel.comparison.compare import compare
from stepreel.comparison.takes import Take, Takes
from stepreel.evaluation.datasets.sample import SampleStep, read_sample_steps, sample_step_names
from stepreel.evaluation.datasets.sample_variants import (
    USUAL,
    VARIANTS,
    Variant,
    make_variants,
    plan_variant,
)


def take_of(name: str, steps: list[SampleStep], seconds: float) -> Take:
    """Make the storyboard that shows the true steps, each kind named by a person."""
    extents = [(s.start, (s.start + s.end) / 2, s.end, s.step - 1) for s in steps]
    board = make_board(extents, titles=[s.name for s in steps], title=name, duration=seconds)
    return Take(name, Path(name), board.model_copy(update={"clustering_id": "true"}))


@pytest.mark.parametrize("seed", range(5))
def test_from_true_labels_exactly_the_known_departures_are_found(seed):
    takes = [
        take_of(name, *plan_variant(variant, seed * 100 + number))
        for number, (name, variant) in enumerate(VARIANTS.items())
    ]
    comparison = compare(Takes(takes))
    assert [cluster + 1 for cluster in comparison.usual_order] == [int(n) for n in USUAL]
    found = {name: [] for name in VARIANTS}
    for one in comparison.departures:
        steps = [one.cluster, *([] if one.other is None else [one.other])]
        found[one.take].append((one.type, "".join(str(step + 1) for step in steps)))
    assert found == {name: list(variant.departures) for name, variant in VARIANTS.items()}
    assert not any(take.is_outlier for take in comparison.takes)
    assert all(one.certainty == "clear" for one in comparison.departures)


def test_the_departures_are_said_in_the_words_of_the_task():
    takes = [
        take_of(name, *plan_variant(variant, number))
        for number, (name, variant) in enumerate(VARIANTS.items())
    ]
    assert [one.sentence for one in compare(Takes(takes)).departures] == [
        "take3 skips “saw the slat” (E); the others do it.",
        "take4 does “hammer nails” (C) before “brush on glue” (B); the others do “brush on glue” "
        "(B) first.",
        "take5 repeats “brush on glue” (B) (twice in all); the others do it less often.",
        "take6 adds “drive screws” (D), which no other take has.",
    ]


def test_a_take_of_another_order_is_pointed_out():
    variants = {**VARIANTS, "take8": Variant("7654")}
    takes = [
        take_of(name, *plan_variant(variant, number))
        for number, (name, variant) in enumerate(variants.items())
    ]
    outliers = [take.folder for take in compare(Takes(takes)).takes if take.is_outlier]
    assert outliers == ["take8"]


def test_steps_follow_one_another_with_pauses_between_them():
    for number, variant in enumerate(VARIANTS.values()):
        steps, seconds = plan_variant(variant, number)
        assert "".join(str(step.step) for step in steps) == variant.order
        assert all(5 <= round(step.end - step.start, 6) <= 9.04 for step in steps)
        assert all(0 < later.start - earlier.end <= 2.04 for earlier, later in pairwise(steps))
        assert seconds > steps[-1].end
        assert plan_variant(variant, number) == (steps, seconds)


@pytest.mark.slow
def test_variants_are_filmed_with_their_true_steps(tmp_path):
    samples = make_variants(tmp_path, step_seconds=(1.5, 1.6), pause_seconds=(0.1, 0.2))
    assert list(samples) == list(VARIANTS)
    names = sample_step_names()
    for name, sample in samples.items():
        assert sample.video.name == f"{name}.mp4"
        steps = read_sample_steps(sample.truth)
        assert "".join(str(step.step) for step in steps) == VARIANTS[name].order
        assert all(step.name == names[step.step - 1] for step in steps)
