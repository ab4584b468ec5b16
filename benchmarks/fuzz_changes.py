"""Ways to damage a file: bits, pieces, numbers in text, values in JSON, odd arrays."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import numpy as np

Random = np.random.Generator
NUMBERS = (
    *("0", "-1", "1e300", "-1e300", "1e999", "nan", "inf", "-inf", "0.5", "1" * 25, "9" * 5000),
    *("1000000000", "4294967296", "9223372036854775808", "", "x", "²", "1_0", "0x10", '"', "true"),
)
LARGE = (10**9, 10**6, 10**20, -1, 0, 1e300, 1e-300, 0.5, float("inf"), float("nan"))
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1, 10**9, 10**20, 1e300, 0.5, "", "x", "nan", "\0", "../../etc/passwd"),
    *([], {}, [[]], {"a": 1}, ["x"] * 50, "x" * 100_000, "𝒳" * 300, "\ud800", [0] * 1000),
)
TYPES = (
    "f2",
    "f4",
    "f8",
    "i1",
    "u1",
    "i8",
    "u8",
    "?",
    "c8",
    "S3",
    "U3",
    "M8[s]",
    "m8[s]",
    ">f4",
    "g",
)
SHAPES = (
    (),
    (0,),
    (6,),
    (7,),
    (6, 0),
    (0, 2),
    (1, 2),
    (6, 2),
    (6, 1),
    (2, 6),
    (6, 2, 1),
    (6, 5000),
)
ODD = (np.nan, np.inf, -np.inf, 1e300, -1e300, 1e18, 1e19, 0.5, -1, -5, 2.0**31, 2.0**63)


def damage_bytes(content: bytes, random: Random) -> bytes:
    """Flip bits, cut the end off, or overwrite, insert, remove or repeat a piece."""
    changed = bytearray(content)
    size = max(1, len(changed))
    start = int(random.integers(size))
    length = int(random.integers(1, min(size, 64) + 1))
    match int(random.integers(7)):
        case 0 | 1:
            for _ in range(int(random.integers(1, 17))):
                if changed:
                    changed[int(random.integers(len(changed)))] ^= 1 << int(random.integers(8))
        case 2:
            del changed[start:]
        case 3:
            fill = int(random.choice([0, 1, 0x7F, 0x80, 0xFF]))
            changed[start : start + length] = bytes([fill]) * length
        case 4:
            changed[start:start] = random.bytes(length)
        case 5:
            del changed[start : start + length]
        case _:
            changed[start:start] = changed[start : start + length] * int(random.integers(1, 50))
    return bytes(changed)


def damage_text(content: bytes, random: Random) -> bytes:
    """Replace a number by an odd one, or damage a line; else the bytes."""
    text = content.decode("utf-8", "replace")
    found = list(re.finditer(r"-?\d+\.?\d*", text))
    match int(random.integers(4)):
        case 0 if found:
            number = found[int(random.integers(len(found)))]
            text = text[: number.start()] + _pick(NUMBERS, random) + text[number.end() :]
        case 1:
            lines = text.splitlines(keepends=True) or [""]
            line = int(random.integers(len(lines))) if random.random() < 0.5 else 0
            odd = (
                "\n",
                ",",
                ",,,,\n",
                " " * 20_000 + "1",
                "1" * 20_000 + "x\n",
                "\t",
                "\r",
                "�",
                "\0",
            )
            lines[line] = _pick(odd, random) + lines[line] * int(random.integers(4))
            text = "".join(lines)
        case 2:
            words = re.findall(r"\w+", text) or [""]
            word = str(random.choice(words))
            text = text.replace(word, _pick(NUMBERS, random), int(random.integers(1, 4)))
        case _:
            return damage_bytes(content, random)
    return text.encode()


def damage_json(content: bytes, random: Random) -> bytes:
    """Replace, remove or repeat a value anywhere in JSON; else damage the text."""
    if random.random() < 0.3:
        return damage_text(content, random)
    document = json.loads(content)
    for _ in range(int(random.integers(1, 4))):
        places = list(_places(document))
        if not places:
            break
        numbers = [place for place in places if type(place[0][place[1]]) in (int, float)]
        if numbers and random.random() < 0.4:
            holder, key = numbers[int(random.integers(len(numbers)))]
            holder[key] = _pick(LARGE, random)
            continue
        holder, key = places[int(random.integers(len(places)))]
        match int(random.integers(5)):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[f"{key}x"] = holder[key]
            case 2 if isinstance(holder, list):
                holder *= 3
            case _:
                holder[key] = copy.deepcopy(_pick(VALUES, random))
    return json.dumps(document).encode("utf-8", "replace")


def _places(node: Any) -> Any:
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in list(keys):
        yield node, key
        yield from _places(node[key])


def odd_arrays(random: Random, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Return arrays by name, some of them of an odd type or shape, or with odd values."""
    arrays: dict[str, np.ndarray] = {}
    for name in names:
        usual = name == "times"
        array = np.arange(6.0) / 2 if usual else random.normal(size=(6, 2))
        if name in ("labels", "cluster"):
            array = random.integers(0, 4, 6).astype(float)
        if random.random() < 0.4 and array.size:
            array.flat[int(random.integers(array.size))] = _pick(ODD, random)
        if random.random() < 0.2:
            array = np.resize(array, SHAPES[int(random.integers(len(SHAPES)))])
        if random.random() < 0.3:
            with np.errstate(all="ignore"):
                array = array.astype(_pick(TYPES, random))
        if random.random() < 0.9:
            arrays[name] = array
    return arrays


def _pick(choices: tuple[Any, ...], random: Random) -> Any:
    return choices[int(random.integers(len(choices)))]
