"""Say in plain words what is wrong with a setting or a field of a file, and what was expected.

What was expected is described from the JSON schema of the model, so that it is always the same as
what is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, ValidationError

Schema = Mapping[str, Any]
_MOST_NAMES = 40


@dataclass(frozen=True)
class Expected:
    """The accepted forms of a setting, where its types alone would not explain them."""

    text: str

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return {**handler(core), "expected": self.text}


def first_problem(
    error: ValidationError, model: type[BaseModel], *, thing: str = "field", depth: int = 99
) -> str:
    """Describe the first problem.

    thing  what the parts of the model are called: field, setting
    depth  parts deeper than this are reported as a problem of the one that contains them
    """
    first = error.errors(include_url=False)[0]
    root = model.model_json_schema()
    path, schema = _walk(root, first["loc"][:depth])
    name = f"{thing} {_place(path)}" if path else "the file"
    match first["type"]:
        case "extra_forbidden":
            known = sorted(_walk(root, first["loc"][:-1])[1].get("properties", {}))
            names = f"{', '.join(known)}{similar(str(first['loc'][-1]), known)}"
            return f"unknown {thing} {_place(first['loc'])!r}; known here: {names}"
        case "missing":
            return f"{name} is missing; expected {describe(schema, root)}"
        case "value_error" | "assertion_error":  # a validator's own words
            return f"{name}: {first['ctx']['error']}"
    return f"{name}={shown(first['input'])} is wrong; expected {describe(schema, root)}"


def describe(schema: Schema, root: Schema) -> str:
    """Describe the values that a JSON schema accepts.

    >>> describe({"type": "integer", "minimum": 1, "maximum": 7}, {})
    'a whole number from 1 to 7'
    >>> describe({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "null"}]}, {})
    'a number above 0, or none (null in JSON)'
    >>> describe({"type": "string", "maxLength": 100}, {})
    'text of at most 100 characters'
    >>> describe({"enum": ["link", "copy"]}, {})
    'link or copy'
    """
    schema = _resolve(schema, root)
    if "expected" in schema:
        return str(schema["expected"])
    if "anyOf" in schema:
        return ", or ".join(describe(part, root) for part in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        *others, last = map(str, schema.get("enum") or [schema["const"]])
        return f"{', '.join(others)} or {last}" if others else last
    match schema.get("type"):
        case "integer":
            return f"a whole number{_range(schema)}"
        case "number":
            limits = _range(schema)
            return f"a number{limits}" if limits else "a finite number"
        case "boolean":
            return "true or false"
        case "null":
            return "none (null in JSON)"
        case "string":
            most = schema.get("maxLength")
            return "text" if most is None else f"text of at most {most:,} characters"
        case "array":
            bounds = {"at least": schema.get("minItems"), "at most": schema.get("maxItems")}
            number = "".join(f"{word} {n} " for word, n in bounds.items() if n is not None)
            return f"a list of {number}values, each {describe(schema.get('items', {}), root)}"
        case "object":
            least = (
                f" with at least {schema['minProperties']} entry"
                if "minProperties" in schema
                else ""
            )
            return f"an object{least}{_fields(schema)}"
    return "another value"


def shown(value: object) -> str:
    """Return a value for a message, cut if it is very long.

    >>> shown("20"), len(shown("1" * 5000))
    ("'20'", 80)
    """
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def similar(name: str, known: Sequence[str]) -> str:
    """Return a question about the most similar known name, or nothing.

    >>> similar("steps.titel", ["start", "title"])
    '; did you mean title?'
    """
    close = get_close_matches(name.rpartition(".")[2], known, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _walk(root: Schema, location: Sequence[int | str]) -> tuple[list[int | str], Schema]:
    """Follow a location into a schema; stop at what is no field, such as the type of a union."""
    path: list[int | str] = []
    schema = _resolve(root, root)
    for part in location:
        inner = _inner(schema, part, root)
        if inner is None:
            break
        path.append(part)
        schema = _resolve(inner, root)
    return path, schema


def _inner(schema: Schema, part: int | str, root: Schema) -> Schema | None:
    for candidate in [schema, *(_resolve(part, root) for part in schema.get("anyOf", ()))]:
        if isinstance(part, int):
            inner = candidate.get("items")
        else:
            inner = candidate.get("properties", {}).get(part, candidate.get("additionalProperties"))
        if isinstance(inner, Mapping):
            return inner
    return None


def _resolve(schema: Schema, root: Schema) -> Schema:
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema


def _range(schema: Schema) -> str:
    """Describe the bounds of a number.

    >>> _range({"exclusiveMinimum": 0, "maximum": 1}), _range({"minimum": 0, "exclusiveMaximum": 1})
    (' above 0, up to 1', ' from 0 to below 1')
    """
    least, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    most, below = schema.get("maximum"), schema.get("exclusiveMaximum")
    if most is None and below is None:
        end = ""
    else:
        end = f"to {most:.12g}" if most is not None else f"to below {below:.12g}"
    if least is not None:
        return f" from {least:.12g} {end}" if end else f" of {least:.12g} or more"
    if above is not None:
        return f" above {above:.12g}" + (f", up {end}" if end else "")
    return f" up {end}" if end else ""


def _fields(schema: Schema) -> str:
    names = list(schema.get("properties", {}))
    return f" with the fields {', '.join(names[:_MOST_NAMES])}" if names else ""


def _place(location: Sequence[int | str]) -> str:
    """Name a place in a file; items of a list are counted from 1, as people do.

    >>> _place(["train", "epochs"]), _place(["steps", 0, "start"]), _place(["steps", 2])
    ('train.epochs', 'steps, item 1, start', 'steps, item 3')
    """
    text = ""
    for before, part in pairwise(["", *location]):
        if isinstance(part, int):
            text += f", item {part + 1}"
        else:
            text += f", {part}" if isinstance(before, int) else f".{part}"
    return text.removeprefix(".").removeprefix(", ")
