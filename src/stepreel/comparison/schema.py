"""The schema of compare.json: in what the takes of a task agree, and in what each departs.

All times are seconds since the recording's first displayed frame, as in storyboard.json. A take is
named by its folder, which is unique; a kind of step by its cluster.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from stepreel.config import MOST_CLUSTERS
from stepreel.system.contracts import Contract, published_schema
from stepreel.types import LONGEST_SECONDS

Certainty = Literal["clear", "uncertain", "unknown"]
Role = Literal["usual", "moved", "repeated", "added"]
DepartureType = Literal["skipped", "fewer", "added", "repeated", "swapped", "moved"]


def _cluster(description: str = "The kind of step.") -> Any:
    return Field(ge=0, lt=MOST_CLUSTERS, description=description)


def _seconds(description: str) -> Any:
    return Field(ge=0, le=LONGEST_SECONDS, description=description)


class ComparedKind(Contract):
    """A kind of step."""

    cluster: int = _cluster()
    letter: str = Field(description="Its letter on every page.")
    title: str = Field(description="The title that most of its steps were given; else empty.")
    takes: int = Field(ge=1, description="In how many takes it occurs.")
    usual_visits: int = Field(ge=0, description="How many times `usual_order` contains it.")


class Visit(Contract):
    """A stretch of one kind in a take: steps of that kind with no other step between them."""

    cluster: int = _cluster()
    start: float = _seconds("Start of its first step.")
    end: float = _seconds("End of its last step.")
    seconds: float = _seconds("How long its steps last, without pauses between them.")
    steps: list[int] = Field(min_length=1, description="Indices of its steps, from 1.")
    shown: int = Field(ge=1, description="Index of the step whose picture shows it best.")
    confidence: float = Field(ge=0, le=1, description="Mean of its steps, weighted by length.")
    is_clear: bool | None = Field(
        description="Whether at least half of it is made of clear steps; null if the storyboard "
        "states no level for that."
    )
    role: Role = Field(
        default="usual",
        description="usual: in its place. moved: usual, but in another place. repeated: once more "
        "than usual. added: of a kind that is not usual.",
    )
    usual_place: int | None = Field(
        default=None,
        ge=1,
        description="Its position in `usual_order`, from 1; null if it has none.",
    )


class ComparedTake(Contract):
    """One take."""

    folder: str = Field(description="The folder of its storyboard; names the take everywhere here.")
    name: str = Field(description="What sentences call it.")
    duration_seconds: float = _seconds("Length of the recording.")
    is_edited: bool = Field(description="Whether its storyboard was edited by hand.")
    is_unclear: bool = Field(description="Whether no clear structure was found in it.")
    distance: float | None = Field(
        ge=0,
        le=1,
        description="How far it is from the other takes, on average: 0 the same steps in the same "
        "order for the same share of time, 1 nothing in common; null if there are fewer than 2.",
    )
    is_outlier: bool = Field(
        description="Whether it is clearly further from the others than they "
        "are from one another; never with fewer than 4 takes."
    )
    visits: list[Visit] = Field(description="Its steps in order, neighbours of a kind merged.")


class Departure(Contract):
    """One difference between a take and the usual order."""

    take: str = Field(description="Folder of the take.")
    type: DepartureType = Field(
        description="skipped: a usual step is missing. fewer: done fewer times than usual. added: "
        "of a kind that is not usual. repeated: done more times than usual. swapped: two usual "
        "steps exchanged. moved: a usual step done earlier or later, past several others."
    )
    cluster: int = _cluster()
    other: int | None = Field(
        default=None,
        ge=0,
        lt=MOST_CLUSTERS,
        description="swapped: the kind it changed places with. moved: the last one it went past.",
    )
    visits: list[int] = Field(
        description="Positions of the visits in the take, from 1; of a skipped step, of the "
        "visits around the place where it was expected."
    )
    usual_place: int | None = Field(
        default=None, ge=1, description="Position in `usual_order`, from 1, if it has one."
    )
    takes_compared: int = Field(
        ge=1,
        description="How many other takes it is compared with: those that have both steps, if "
        "it is about two; otherwise all.",
    )
    takes_otherwise: int = Field(ge=0, description="How many of those do not do so.")
    certainty: Certainty = Field(
        description="uncertain: rests on steps that are not clear. unknown: the storyboards state "
        "no level for that."
    )
    sentence: str = Field(description="In one plain sentence.")


class EitherOrder(Contract):
    """Two neighbours of the usual order that come in one order as often as in the other."""

    first: int = _cluster("The kind that comes first in `usual_order`.")
    second: int = _cluster("The kind after it.")
    takes_each: int = Field(ge=1, description="How many takes do them in each order.")


class TakeSeconds(Contract):
    """How long a take spends on one kind of step."""

    take: str = Field(description="Folder of the take.")
    seconds: float = _seconds("In all visits together.")
    visits: list[float] = Field(description="Of each visit, in order.")
    pace: Literal["usual", "slow", "quick", "unknown"] = Field(
        description="slow, quick: unusual, by the rule in docs/method.md. unknown: fewer than 5 "
        "takes have this kind."
    )


class Durations(Contract):
    """How long takes spend on one kind of step, or in all; only takes that have it count."""

    cluster: int | None = Field(
        ge=0, lt=MOST_CLUSTERS, description="The kind of step; null: whole recordings."
    )
    median: float = _seconds("Median over takes.")
    quartiles: tuple[float, float] = Field(description="The lower and the upper quartile.")
    deviation: float = _seconds("Median absolute deviation from the median.")
    visit_median: float = _seconds("Median over single visits.")
    takes: list[TakeSeconds]


class UnusualPace(Contract):
    """A take that is unusually slow or quick in one kind of step, or in all."""

    take: str = Field(description="Folder of the take.")
    cluster: int | None = Field(
        ge=0, lt=MOST_CLUSTERS, description="The kind of step; null: the whole recording."
    )
    type: Literal["slow", "quick"]
    seconds: float = _seconds("How long it takes.")
    median: float = _seconds("Median over takes.")
    certainty: Certainty = Field(description="As of a departure.")
    sentence: str = Field(description="In one plain sentence.")


class Transition(Contract):
    """One kind of step that directly follows another, or starts or ends a take."""

    before: int | None = Field(ge=0, lt=MOST_CLUSTERS, description="null: the start of the take.")
    after: int | None = Field(ge=0, lt=MOST_CLUSTERS, description="null: the end of the take.")
    takes: int = Field(ge=1, description="In how many takes.")
    is_usual: bool = Field(description="Whether `usual_order` contains it.")


class LeftOut(Contract):
    """A storyboard that could not be compared."""

    folder: str
    reason: str


class Comparison(Contract):
    """In what the takes of a task agree, and in what each departs from the others."""

    format: Literal["stepreel-comparison"] = "stepreel-comparison"
    version: Literal[1] = 1
    clustering_id: str = Field(min_length=1, description="Of all storyboards compared.")
    kinds: list[ComparedKind] = Field(description="In the usual order, then those not usual.")
    usual_order: list[int] = Field(
        description="Clusters of the usual steps, in the order with which the takes agree most. A "
        "kind that takes usually do twice is in it twice."
    )
    either_order: list[EitherOrder]
    takes: list[ComparedTake] = Field(min_length=2)
    departures: list[Departure] = Field(description="By take, in the order of the steps.")
    durations: list[Durations] = Field(description="In the order of `kinds`, then whole takes.")
    unusual_paces: list[UnusualPace]
    transitions: list[Transition]
    notes: list[str] = Field(default=[], description="What a reader should know first.")
    left_out: list[LeftOut] = Field(description="Storyboards that could not be read.")
    stepreel_version: str = ""

    def to_json(self) -> str:
        """Return the content of compare.json."""
        return self.model_dump_json(indent=2) + "\n"

    def __repr__(self) -> str:
        return f"Comparison({len(self.takes)} takes, {len(self.departures)} departures)"

    __str__ = __repr__


def comparison_schema() -> dict[str, Any]:
    """Return the published JSON schema of compare.json."""
    return published_schema(Comparison)
