"""`stepreel schema`: the published form of storyboard.json."""

from __future__ import annotations

import json

import typer


def schema() -> None:
    """Print the JSON schema of storyboard.json."""
    from stepreel.storyboard.schema import Storyboard

    typer.echo(json.dumps(Storyboard.model_json_schema(), indent=2, ensure_ascii=False))
