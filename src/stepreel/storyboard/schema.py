"""The schema of storyboard.json, from which the page and every export are made.

All times are seconds since the recording's first displayed frame. Add `player_offset_seconds` to
get the position a video player shows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from stepreel.config import MOST_CLUSTERS
from stepreel.system.contracts import Contract, published_schema, read_contract
from stepreel.types import LONGEST_SECONDS

FORMAT_VERSION: Literal[2] = 2
UNKNOWN_HASH = "unknown: version 1 had none"


class Span(Contract):
    """A span of time in the recording."""

    start: float = Field(
        ge=0, le=LONGEST_SECONDS, description="Start of the first moment, in seconds."
    )
    end: float = Field(ge=0, le=LONGEST_SECONDS, description="End of the last moment, in seconds.")

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Self:
        if self.end < self.start:
            raise ValueError(f"a span ends ({self.end}) before it starts ({self.start})")
        return self

    @property
    def seconds(self) -> float:
        """Duration of the span."""
        return self.end - self.start


class Likeness(Contract):
    """Another step that looks alike."""

    step: int = Field(ge=1, description="Its index.")
    similarity: float = Field(
        le=1,
        ge=0,
        description="0: as different as two steps of this recording usually are. 1: the same.",
    )


class StepExplanation(Contract):
    """What changes where a step starts and ends, and which other steps look like it."""

    start_cues: dict[str, float] | None = Field(
        default=None,
        description="Cues that clearly change where the step starts, the strongest first, and how "
        "many times as much as usual; null where the recording starts.",
    )
    end_cues: dict[str, float] | None = Field(
        default=None, description="The same where the step ends; null where the recording ends."
    )
    looks_like: list[Likeness] = Field(
        default=[],
        description="Up to three other steps that clearly look like it, of whatever kind, the most "
        "similar first.",
    )


class KeyStep(Span):
    """One key step: the moment that shows it best, and its start and end."""

    index: int = Field(default=1, ge=1, description="Position in time order, from 1.")
    title: str = Field(description="Name of the step; can be edited.")
    time: float = Field(
        ge=0, le=LONGEST_SECONDS, description="The moment that shows the step best, in seconds."
    )
    cluster: int = Field(
        ge=0,
        lt=MOST_CLUSTERS,
        description="The kind of step; repeated steps have the same cluster.",
    )
    occurrence: int = Field(
        default=1,
        ge=1,
        description="Occurrence number: 1 for the first step of its cluster, 2 for the next …",
    )
    occurrences: int = Field(
        default=1, ge=1, description="Number of steps of this cluster in the recording."
    )
    distance: float = Field(
        default=0.0, ge=0, description="Distance of the moment `time` to the centre of its cluster."
    )
    is_repeat: bool = Field(
        default=False,
        description="Whether this is claimed to be an earlier step done again: its confidence, and "
        "that of an earlier step of its cluster, reach the storyboard's `confidence.repeat`.",
    )
    confidence: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="How reliable the step is; the storyboard's `confidence` says how.",
    )
    margin: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Mean certainty of the step's moments: 0 = between two kinds of steps, 1 = "
        "certainly of its own. Where kinds have centres, 1 - (distance to the own centre / "
        "distance to the nearest other one).",
    )
    explanation: StepExplanation | None = Field(
        default=None, description="What explains the step; null if nobody looked for it."
    )
    picture: str | None = Field(
        default=None, description="JPEG of the moment `time`; path relative to this file."
    )


class TimelineSpan(Span):
    """A part of the timeline; together they cover the recording without overlap."""

    kind: Literal["step", "uncertain", "left-out", "background"] = Field(
        description="step: part of a key step. uncertain: trimmed as too far from its centre. "
        "left-out: a segment that is too short or hidden by a limit, or a short pause between "
        "steps. background: 2 s or more without a step."
    )
    cluster: int | None = Field(
        default=None, ge=0, lt=MOST_CLUSTERS, description="Its cluster, if it has one."
    )
    step: int | None = Field(default=None, ge=1, description="Index of the key step it belongs to.")


class ConfidenceScale(Contract):
    """What the confidence of steps means."""

    meaning: str = Field(description="What the numbers say, in words.")
    clear: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Steps of at least this confidence are clear; null if there is no such level.",
    )
    repeat: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Steps of at least this confidence may be called an earlier step done again; "
        "null if none is.",
    )


MARGIN_SCALE = ConfidenceScale(
    meaning="The margin between a step's own cluster and the next one: 0 = between two clusters, "
    "1 = at the centre. It is no probability of being right."
)


class DecisionFacts(Contract):
    """What stepreel found out about the kind of task, and how steps were therefore found."""

    sentence: str = Field(description="In one plain sentence.")
    figures: dict[str, float] = Field(
        default={}, description="What the decision rests on, by name; docs/method.md explains each."
    )
    found_structure: bool | None = Field(
        default=None,
        description="False if the steps are hardly more than equal parts; null: not known.",
    )


class Strip(Contract):
    """One picture with thumbnails of the whole recording, row by row."""

    file: str = Field(description="JPEG; path relative to this file.")
    count: int = Field(ge=1, le=100_000)
    columns: int = Field(ge=1, le=100_000)
    tile_width: int = Field(ge=1, le=10_000, description="Pixels.")
    tile_height: int = Field(ge=1, le=10_000, description="Pixels.")
    interval_seconds: float = Field(
        gt=0, le=LONGEST_SECONDS, description="Tile i shows the moment i x this."
    )


class PlayableVideo(Contract):
    """The video that the page plays."""

    kind: Literal["original", "copy", "proxy", "embedded", "none"] = Field(
        description="original: the recording where it is. copy: a copy of its file. proxy: a "
        "smaller copy in H.264. embedded: a small copy in H.264 that the page contains. none: no "
        "video could be provided."
    )
    address: str | None = Field(
        default=None,
        description="Address relative to this file, percent-encoded; null for none.",
    )
    player_offset_seconds: float = Field(
        default=0.0, ge=0, description="Add to any time to get the position in this video."
    )
    explanation: str = Field(
        default="", description="What the page says about it, such as why it is a copy."
    )


class RecordingReference(Contract):
    """The recording of this storyboard, and where to find it."""

    kind: Literal["video", "features"] = Field(
        description="features: only features are available; there is no video and no picture."
    )
    name: str = Field(description="File name of the recording.")
    file: str | None = Field(
        description="Path to the recording's file, relative to this file, with forward slashes; "
        "null for arrays in memory."
    )
    fingerprint: str = Field(description="Hash of the content.")
    duration_seconds: float = Field(ge=0, le=LONGEST_SECONDS)
    width: int | None = Field(
        default=None, ge=1, description="Displayed width in pixels, rotation applied; videos only."
    )
    height: int | None = Field(
        default=None, ge=1, description="Displayed height in pixels, rotation applied; videos only."
    )
    fps: float = Field(
        ge=0, description="Mean frame rate, or moments per second of features; 0 when unknown."
    )
    first_frame_seconds: float = Field(
        description="Time of the first frame or moment on the file's own clock."
    )
    player_offset_seconds: float = Field(
        ge=0, description="Add to any time to get the position in a player (0 for most files)."
    )
    playable: PlayableVideo | None = Field(
        default=None,
        description="The video that the page plays; null for features, and in storyboards that "
        "were not written to a folder.",
    )

    @model_validator(mode="after")
    def _videos_have_a_size(self) -> Self:
        if self.kind == "video" and (self.width is None or self.height is None):
            raise ValueError("a video needs a width and a height")
        return self


class Alternative(Contract):
    """The same recording in another number of steps, complete."""

    label: str = Field(description="What it is called: 8 steps.")
    option: str = Field(description="The option of `stepreel tune` that chooses it: --steps 8.")
    clustering_id: str = Field(default="", max_length=100)
    decision: DecisionFacts | None = None
    steps: list[KeyStep]
    timeline: list[TimelineSpan]
    uncertain: list[Span]
    background: list[Span]
    notes: list[str] = Field(default=[])


class Storyboard(Contract):
    """The key steps of one recording and everything needed to show them."""

    format: Literal["stepreel-storyboard"] = "stepreel-storyboard"
    version: Literal[2] = FORMAT_VERSION
    title: str
    recording: RecordingReference
    confidence: ConfidenceScale = Field(
        default=MARGIN_SCALE, description="What the steps' `confidence` means."
    )
    decision: DecisionFacts | None = Field(
        default=None, description="What was found out about the task; null if nothing was decided."
    )
    clustering_id: str = Field(
        default="",
        max_length=100,
        description="Equal in storyboards that share their clusters: there, cluster 0 is the same "
        "kind of step in each. Empty if unknown.",
    )
    steps: list[KeyStep]
    timeline: list[TimelineSpan]
    uncertain: list[Span] = Field(description="Moments trimmed as too far from their centre.")
    background: list[Span] = Field(description="Runs of 2 s or more without a step.")
    alternatives: list[Alternative] = Field(
        default=[], max_length=9, description="Other numbers of steps that are natural here."
    )
    strip: Strip | None = Field(default=None, description="Thumbnails; null without pictures.")
    notes: list[str] = Field(
        default=[], description="Problems and hints for readers of the result."
    )
    settings: dict[str, Any] = Field(default={}, description="The run's resolved settings.")
    seed: int = 0
    stepreel_version: str = ""
    content_hash: str = Field(
        default="",
        description="Hash of the rest as `stepreel run` wrote it. If it does not match, the file "
        "was edited, and `stepreel run` does not overwrite it.",
    )

    @field_validator("settings")
    @classmethod
    def _number_of_kinds_is_known(cls, settings: dict[str, Any]) -> dict[str, Any]:
        """Check the one setting that readers of a storyboard use."""
        key_steps = settings.get("key_steps", {})
        if not isinstance(key_steps, dict):
            raise ValueError("key_steps must be an object of settings")
        number = key_steps.get("n_clusters", 1)
        if isinstance(number, bool) or not isinstance(number, int):
            raise ValueError("key_steps.n_clusters must be a whole number")
        if not 1 <= number <= MOST_CLUSTERS:
            raise ValueError(f"key_steps.n_clusters must be from 1 to {MOST_CLUSTERS}")
        return settings

    def alternative(self, number: int) -> Storyboard:
        """Return the storyboard with the steps of an alternative (from 0) instead of its own."""
        other = self.alternatives[number]
        fields = set(Alternative.model_fields) - {"label", "option"}
        changes = {name: getattr(other, name) for name in fields}
        return self.model_copy(update={**changes, "alternatives": []})

    @property
    def n_clusters(self) -> int | None:
        """How many kinds of steps were looked for, if the settings say so."""
        number: int | None = self.settings.get("key_steps", {}).get("n_clusters")
        return number

    @model_validator(mode="before")
    @classmethod
    def _read_version_1(cls, values: Any) -> Any:
        """Convert version 1, which had only videos, and called the margin confidence."""
        if not isinstance(values, dict) or values.get("version") != 1:
            return values
        recording, steps = values.get("recording"), values.get("steps")
        if not isinstance(recording, dict) or not isinstance(steps, list):
            return values
        with_margin = [
            {**step, "margin": step.get("confidence")} if isinstance(step, dict) else step
            for step in steps
        ]
        recording = {"kind": "video", **recording}
        return {
            **values,
            "version": 2,
            "recording": recording,
            "steps": with_margin,
            "content_hash": UNKNOWN_HASH,
        }

    def to_json(self) -> str:
        """Return the content of storyboard.json."""
        return self.model_dump_json(indent=2) + "\n"

    def __repr__(self) -> str:
        steps = "1 step" if len(self.steps) == 1 else f"{len(self.steps)} steps"
        return f"Storyboard({self.title!r}, {steps}, {self.recording.duration_seconds:.1f} s)"

    __str__ = __repr__


def storyboard_schema() -> dict[str, Any]:
    """Return the published JSON schema of storyboard.json."""
    return published_schema(Storyboard)


def read_storyboard(path: Path | str) -> Storyboard:
    """Read a storyboard.json, or say what is wrong with it."""
    return read_contract(
        Path(path),
        Storyboard,
        expected=f"a storyboard of version 1 to {FORMAT_VERSION}",
        newest=FORMAT_VERSION,
        schema_command="stepreel schema",
    )
