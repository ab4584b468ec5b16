"""The values that settings can have, and how they are written as text."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from stepreel.validation import Expected

NOT_GIVEN = ("none", "auto")  # the number is found


def _split(value: object) -> object:
    """Split comma-separated text into a list."""
    if not isinstance(value, str):
        return value
    return [part.strip() for part in value.split(",") if part.strip()]


def parse_cues(text: str) -> CueChoice:
    """Parse a selection of cues: main, all, or comma-separated names.

    >>> parse_cues("all"), parse_cues("hands, gaze")
    ('all', ('hands', 'gaze'))
    """
    match text.strip():
        case "main":
            return "main"
        case "all":
            return "all"
        case names:
            return tuple(part.strip() for part in names.split(",") if part.strip())


def _parse_cues(value: object) -> object:
    return parse_cues(value) if isinstance(value, str) else value


def _parse_rows(value: object) -> object:
    """Parse rows of numbers such as "1,1; 0,1"; leave names unchanged."""
    if not isinstance(value, str) or not any(letter.isdigit() for letter in value):
        return value
    return [[cell.strip() for cell in row.split(",")] for row in value.split(";")]


def _parse_none(value: object) -> object:
    return None if isinstance(value, str) and value.lower() in NOT_GIVEN else value


def _parse_range(value: object) -> object:
    """Parse a number or a range such as "3..8"."""
    if isinstance(value, str) and value.lower() in NOT_GIVEN:
        return None
    if isinstance(value, str):
        parts = value.split("..")
        value = parts if len(parts) == 2 else [value, value]
    return [value, value] if isinstance(value, int) and not isinstance(value, bool) else value


def _parse_pairs(value: object) -> object:
    """Parse pairs of numbers such as "12,80; 5,9"; leave what is none unchanged."""
    rows = _parse_rows(value)
    if isinstance(rows, list | tuple) and any(
        not isinstance(row, list | tuple) or len(row) != 2 for row in rows
    ):
        return str(value)
    return rows


CueNames = Annotated[
    tuple[str, ...], BeforeValidator(_split), Expected("names of cues, comma-separated")
]
CueChoice = Literal["main", "all"] | tuple[str, ...]
"""A selection of cues: the main (first) one, all, or those named."""

Cues = Annotated[
    CueChoice, BeforeValidator(_parse_cues), Expected("main, all, or comma-separated names of cues")
]
Epochs = Annotated[
    tuple[Annotated[int, Field(ge=0, le=1_000_000)], ...],
    Field(max_length=1000),
    BeforeValidator(_split),
    Expected("at most 1000 whole numbers from 0 to 1000000, comma-separated"),
]
Weight = Annotated[float, Field(ge=-1e6, le=1e6)]
CueWeights = Annotated[
    Literal["paper", "all-pairs", "main-cue"] | tuple[tuple[Weight, ...], ...],
    BeforeValidator(_parse_rows),
    Expected("paper, all-pairs, main-cue, or rows of numbers such as 1,1; 0,1"),
]
Moment = Annotated[float, Field(ge=0, le=1e9)]
Moments = Annotated[
    tuple[Moment, ...],
    Field(max_length=1000),
    BeforeValidator(_split),
    Expected("moments in seconds, comma-separated"),
]
MomentPairs = Annotated[
    tuple[tuple[Moment, Moment], ...],
    Field(max_length=1000),
    BeforeValidator(_parse_pairs),
    Expected("pairs of moments in seconds, such as 12,80; 5,9"),
]
OptionalNumber = Annotated[float | None, BeforeValidator(_parse_none)]
OptionalCount = Annotated[int | None, BeforeValidator(_parse_none)]
Count = Annotated[int, Field(ge=1, le=1000)]  # more take long, and no page shows them
NumberOfKinds = Annotated[
    int | None,
    BeforeValidator(_parse_none),
    Expected("a whole number from 1 to 1000, or auto; --clusters takes a range, too: 5..12"),
]
CountRange = Annotated[
    tuple[Count, Count] | None,
    BeforeValidator(_parse_range),
    Expected("a number from 1 to 1000, a range such as 3..8, or auto"),
]


def clusters_overrides(clusters: int | str | None) -> dict[str, object]:
    """Return what a number or range of kinds changes.

    >>> clusters_overrides("7")
    {'key_steps.n_clusters': '7', 'key_steps.clusters_range': 'auto'}
    >>> clusters_overrides("5..12")
    {'key_steps.n_clusters': 'auto', 'key_steps.clusters_range': '5..12'}
    """
    if clusters is None:
        return {}
    if ".." in str(clusters):
        return {"key_steps.n_clusters": "auto", "key_steps.clusters_range": clusters}
    return {"key_steps.n_clusters": clusters, "key_steps.clusters_range": "auto"}
