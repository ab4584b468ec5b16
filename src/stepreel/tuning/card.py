"""The card of what a recording's output folder keeps: `tuning/recording.json`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from stepreel.config import MOST_CLUSTERS, Settings, without_retired
from stepreel.errors import OutputError
from stepreel.storyboard.schema import DecisionFacts
from stepreel.system.contracts import Contract
from stepreel.system.files import read_regular, write_text
from stepreel.types import LONGEST_SECONDS, readable

FOLDER = "tuning"  # in the output folder of a recording
CARD = "recording.json"
VERSION: Literal[1] = 1
SHORTEST_MOMENT = 1e-9  # seconds: shorter ones are in other units or damaged


class KeptVideo(Contract):
    """What is known of a video file; see `VideoFile`."""

    width: int = Field(ge=1)
    height: int = Field(ge=1)
    fps: float = Field(ge=0)
    declared_seconds: float
    first_frame_seconds: float
    player_offset_seconds: float = Field(ge=0)
    shown_in_decoding_order: bool
    n_streams: int = Field(ge=0)
    is_hdr: bool


class KeptClustering(Contract):
    """One clustering among those in the file `decoded`."""

    n_clusters: int = Field(ge=1, le=MOST_CLUSTERS)
    has_uncertain: bool = Field(description="Whether moments were trimmed.")


class KeptDecoding(Contract):
    """What was decoded: the result, or the same in another number of steps."""

    file: str = Field(description="File of the clusterings.")
    clusterings: list[KeptClustering] = Field(
        min_length=1, description="Those in the file: the result, then what tells its stability."
    )
    clustering_id: str
    decision: DecisionFacts | None
    decoder: str = Field(description="The decoder that did the work.")
    settings: dict[str, Any] = Field(description="Resolved settings it was decoded with.")
    label: str = Field(default="", description="What another number is called: 8 steps.")
    option: str = Field(default="", description="The option that chooses it: --steps 8.")

    @field_validator("settings")
    @classmethod
    def _are_settings(cls, values: dict[str, Any]) -> dict[str, Any]:
        Settings.model_validate(without_retired(values))
        return values


class KeptCard(Contract):
    """Everything about a recording, and how its steps were found, except arrays.

    Names of files are those in the same folder.
    """

    format: Literal["stepreel-tuning"] = "stepreel-tuning"
    version: Literal[1] = VERSION
    name: str = Field(description="The name of the recording shown to users.")
    file: str | None = Field(description="Path to the recording, relative to the output folder.")
    fingerprint: str
    duration_seconds: float = Field(ge=0, le=LONGEST_SECONDS)
    moment_seconds: float = Field(ge=SHORTEST_MOMENT, le=LONGEST_SECONDS)
    start_seconds: float
    notes: list[str]
    learning_notes: list[str]
    track_settings: dict[str, Any]
    video: KeptVideo | None = Field(description="Null for features.")
    tracks: dict[str, str] = Field(min_length=1, description="File per cue, the main one first.")
    pictures: str | None = Field(description="File of a picture per moment; videos only.")
    embedding: str | None = Field(description="File of the learned embedding, if there is one.")
    derived: str | None = Field(description="File of what was made from the tracks.")
    decodings: list[KeptDecoding] = Field(
        min_length=1, max_length=9, description="The result, then other natural numbers."
    )
    of_model: bool = Field(description="Whether kinds of an earlier model were found again.")
    task: list[str] = Field(
        min_length=1, description="Fingerprints of all recordings that were looked at together."
    )
    task_names: list[str] = Field(description="Their names.")
    titles: dict[str, str] = Field(
        default={}, description="Titles a person gave: by letter of a kind, or number of a step."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if len(self.task_names) != len(self.task):
            raise ValueError("task and task_names must have the same length")
        if self.fingerprint not in self.task:
            raise ValueError("a recording is one of those it was looked at together with")
        if self.video is not None and (self.file is None or self.pictures is None):
            raise ValueError("a video has a file and pictures")
        if self.video is None and self.pictures is not None:
            raise ValueError("only a video has pictures")
        return self

    @property
    def files(self) -> list[str]:
        """All files that belong to it."""
        optional = (self.pictures, self.embedding, self.derived)
        decodings = (decoding.file for decoding in self.decodings)
        return [*self.tracks.values(), *(name for name in optional if name), *decodings]

    @property
    def main(self) -> KeptDecoding:
        """What the storyboard shows."""
        return self.decodings[0]


def write_card(folder: Path, card: KeptCard) -> None:
    """Write the card of the output folder of a recording."""
    write_text(folder / FOLDER / CARD, card.model_dump_json(indent=1) + "\n")


def forget(folder: Path) -> None:
    """Remove the card, without which nothing is kept; for a folder that cannot be written."""
    with contextlib.suppress(OSError):
        (folder / FOLDER / CARD).unlink()


def read_card(folder: Path) -> KeptCard:
    """Read the card of the output folder of a recording; OutputError says what is missing."""
    path = folder / FOLDER / CARD
    try:
        text = read_regular(path).decode("utf-8")
        return KeptCard.model_validate_json(text)
    except (FileNotFoundError, NotADirectoryError):
        raise OutputError(
            f"{folder}: there is no {FOLDER}/ with what tuning needs; it was removed, or an older "
            f"version wrote this folder. {run_again(folder)}"
        ) from None
    except OSError as problem:
        raise OutputError(f"{path}: cannot be read ({problem.strerror})") from problem
    except UnicodeDecodeError:
        raise damaged_card(folder, "it is not UTF-8 text") from None
    except (ValidationError, RecursionError) as problem:
        raise damaged_card(folder, _first_fault(problem)) from None


def _first_fault(problem: ValidationError | RecursionError) -> str:
    if isinstance(problem, RecursionError):
        return "its lists or objects are nested too deeply"
    fault = problem.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(map(str, fault["loc"]))[:80]
    reason = str(fault["msg"]).removeprefix("Value error, ")[:120]
    return readable(f"{place}: {reason}" if place else reason)


def damaged_card(folder: Path, reason: str) -> OutputError:
    """Say that the card of an output folder is damaged, and what to do."""
    return OutputError(f"{folder / FOLDER / CARD}: is damaged ({reason}). {run_again(folder)}")


def run_again(folder: Path) -> str:
    """Return the advice to make what is missing again.

    >>> run_again(Path("out/shelf"))
    'Run `stepreel run` on the recording again, with -o out'
    """
    return f"Run `stepreel run` on the recording again, with -o {folder.parent}"
