"""Published JSON files: what they have in common, and how they are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from stepreel.errors import StepreelError
from stepreel.system.files import read_regular
from stepreel.validation import first_problem

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Model = TypeVar("Model", bound=BaseModel)


class Contract(BaseModel):
    """Base of published files: immutable, without unknown fields, infinities or NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def published_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a published file, with the dialect it is written in."""
    return {"$schema": DIALECT, **model.model_json_schema()}


def read_contract(
    path: Path, model: type[Model], *, expected: str, newest: int, schema_command: str
) -> Model:
    """Read a JSON file as `model`; StepreelError says what is wrong with it.

    expected        what the file should be: "a storyboard"
    newest          the newest version that can be read
    schema_command  the command that prints the expected form
    """
    try:
        text = read_regular(path).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise StepreelError(
            f"{path}: does not exist; expected {expected}; check the name and folder"
        ) from None
    except OSError as problem:
        raise StepreelError(f"{path}: cannot be read ({problem.strerror})") from problem
    except UnicodeDecodeError as problem:
        raise StepreelError(f"{path}: is not UTF-8 text; expected {expected}") from problem
    if (version := _version_of(text)) is not None and version > newest:
        raise StepreelError(
            f"{path}: has version {version}, but this stepreel reads up to {newest}; upgrade it"
        )
    try:
        return model.model_validate_json(text)
    except ValidationError as problem:
        raise StepreelError(
            f"{path}: not {expected}: {explain_invalid(text, problem, model)} "
            f"(`{schema_command}` prints the expected form)"
        ) from problem


def explain_invalid(text: str, problem: ValidationError, model: type[BaseModel]) -> str:
    """Describe what is wrong with the text of a JSON file: its form, or the first wrong field."""
    try:
        json.loads(text)
    except json.JSONDecodeError as fault:
        return (
            f"it is not valid JSON at line {fault.lineno}, column {fault.colno}; look there for a "
            "missing or extra comma, quote or bracket"
        )
    except (ValueError, RecursionError):
        return "it is not valid JSON; its lists or objects are nested too deeply"
    return str(first_problem(problem, model))


def _version_of(text: str) -> int | None:
    """Return the version a JSON file states, if it does."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    version = content.get("version") if isinstance(content, dict) else None
    return version if isinstance(version, int) else None
