from __future__ import annotations

import json

from cli.commands import stepreel
from stepreel import __version__


def test_info_shows_versions_cues_decoders_cores_and_cache(tmp_path):
    done = stepreel("info", cache=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in [
        "appearance, motion",
        "efficientnet-lite0",
        "h264",
        "cores",
        "auto: chosen",
        str(tmp_path),
    ]:
        assert words in done.stdout


def test_schema_is_valid_json_and_names_the_steps():
    schema = json.loads(stepreel("schema").stdout)
    assert "steps" in schema["properties"]
    assert schema["$defs"]["KeyStep"]["properties"]["confidence"]["maximum"] == 1


def test_version_and_help_are_printed():
    assert stepreel("--version").stdout.strip() == f"stepreel {__version__}"
    assert "run" in stepreel("--help").stdout
    bare = stepreel()
    assert "Usage" in bare.stdout + bare.stderr


def test_an_unknown_command_is_rejected():
    done = stepreel("rum")
    assert done.returncode == 2
    assert "rum" in done.stderr
