"""Read published JSON files, or say what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from stepreel.errors import StepreelError

Model = TypeVar("Model", bound=BaseModel)


def read_contract(path: Path, model: type[Model], *, expected: str, schema_command: str) -> Model:
    """Read a JSON file as `model`; StepreelError says what is wrong with it.

    expected        what the file should be: "a storyboard of version 2"
    schema_command  the command that prints the expected form
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise StepreelError(f"{path}: cannot be read ({problem.strerror})") from problem
    except UnicodeDecodeError as problem:
        raise StepreelError(f"{path}: is not UTF-8 text; expected {expected}") from problem
    try:
        return model.model_validate_json(text)
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise StepreelError(
            f"{path}: not {expected}: {where}: {first['msg']} "
            f"(`{schema_command}` prints the expected form)"
        ) from problem
