"""`stepreel schema`: the published forms of storyboard.json, compare.json and results.json."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer

from stepreel.cli.terminal import report_errors, show


def schema(
    contract: Annotated[
        Literal["storyboard", "comparison", "results"],
        typer.Argument(
            help="storyboard (of `run`), comparison (of `compare`) or results (of `evaluate` and "
            "`score`)."
        ),
    ] = "storyboard",
) -> None:
    """Print the JSON schema of storyboard.json, compare.json or results.json."""
    with report_errors():
        if contract == "results":
            from stepreel.evaluation.results import results_schema as published
        elif contract == "comparison":
            from stepreel.comparison.schema import comparison_schema as published
        else:
            from stepreel.storyboard.schema import storyboard_schema as published
        show(json.dumps(published(), indent=2, ensure_ascii=False))
