"""Messages about settings and files are in our own words: what is wrong, and what is expected."""

from __future__ import annotations

import json
import re

import pytest
from boards import make_board

from stepreel.config import Settings, load_settings
from stepreel.errors import SettingsError, StepreelError
from stepreel.storyboard.schema import read_storyboard

LIBRARY_WORDS = re.compile(
    r"Input should|valid (integer|number|string|boolean|list|tuple)|Field required|Extra inputs|"
    r"Value error|unable to parse|Invalid JSON|instance of|validation error"
)
WRONG = [
    "",
    "wrong",
    "-1e99",
    "1e99",
    "nan",
    "inf",
    "0.5.5",
    "1,x;2",
    None,
    {},
    [[]],
    [None],
    "9" * 5000,
]
SETTINGS = [
    f"{section}.{name}"
    for section, part in Settings.model_fields.items()
    for name in part.annotation.model_fields
]


def refusal(setting: str, value: object) -> str | None:
    """Return the message about a value of a setting; None if it is accepted."""
    try:
        load_settings("quick", {setting: value})
    except SettingsError as problem:
        return str(problem)
    return None


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_value_of_a_setting_is_refused_in_the_words_of_a_library(setting):
    messages = [text for value in WRONG if (text := refusal(setting, value)) is not None]
    assert messages
    for text in messages:
        assert text.startswith(f"setting {setting}=")
        assert "is wrong; expected " in text
        assert "another value" not in text
        assert not LIBRARY_WORDS.search(text)
        assert len(text) < 400


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("train.temporal_extent", "0", "a number above 0, up to 1"),
        ("key_steps.background_ratio", "1", "a number from 0 to below 1"),
        ("key_steps.top", "0", "a whole number from 1 to 1000000, or none"),
        ("train.stop_when_settled", "perhaps", "true or false"),
        ("encoder.kind", "gru", "transformer, lstm or tcn"),
        ("train.drop_after_epochs", "1,x", "whole numbers from 0 to 1000000, comma-separated"),
    ],
)
def test_what_a_setting_expects_is_described(setting, value, expected):
    with pytest.raises(SettingsError, match=re.escape(expected)):
        load_settings("quick", {setting: value})


def changed(board: dict, path: str, value: object) -> str:
    *parents, last = path.split(".")
    inner = board
    for name in parents:
        inner = inner[int(name) if name.isdigit() else name]
    if value is KeyError:
        del inner[last]
    else:
        inner[last] = value
    return json.dumps(board)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("steps.0.start", -1, "steps, item 1, start=-1 is wrong; expected a number from 0 to"),
        (
            "steps.0.start",
            "soon",
            "steps, item 1, start='soon' is wrong; expected a number from 0 to",
        ),
        ("steps.0.title", KeyError, "steps, item 1, title is missing; expected text"),
        (
            "steps.0.titel",
            "Fold",
            "unknown field 'steps, item 1, titel'; known here: .*did you mean title",
        ),
        (
            "steps.0.cluster",
            1.5,
            "steps, item 1, cluster=1.5 is wrong; expected a whole number from 0",
        ),
        ("steps", {}, "steps={} is wrong; expected a list of values, each an object with the"),
        ("steps.0.end", 0.0, "steps, item 1: a span ends"),
        ("recording.kind", "song", "recording.kind='song' is wrong; expected video or features"),
        ("notes", [1], "notes, item 1=1 is wrong; expected text"),
        ("version", "two", "version='two' is wrong; expected 2"),
    ],
)
def test_a_wrong_field_of_a_storyboard_is_named_with_what_is_expected(
    tmp_path, path, value, message
):
    file = tmp_path / "storyboard.json"
    board = json.loads(make_board().to_json())
    board["steps"][0]["start"] = 1.0
    file.write_text(changed(board, path, value), encoding="utf-8")
    with pytest.raises(StepreelError, match=message) as raised:
        read_storyboard(file)
    assert str(raised.value).startswith(f"{file}: not a storyboard")
    assert "stepreel schema" in str(raised.value)
    assert not LIBRARY_WORDS.search(str(raised.value))


def test_a_slip_in_json_is_located(tmp_path):
    file = tmp_path / "storyboard.json"
    file.write_text('{\n  "title": "Box",\n  "steps": [,]\n}', encoding="utf-8")
    with pytest.raises(
        StepreelError, match=r"not valid JSON at line 3, column \d+; look there"
    ) as raised:
        read_storyboard(file)
    assert not LIBRARY_WORDS.search(str(raised.value))
