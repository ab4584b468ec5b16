"""The commands by name."""

from __future__ import annotations

from typing import Annotated

import typer

from stepreel.cli.demo import demo
from stepreel.cli.info import info
from stepreel.cli.run import run
from stepreel.cli.schema import schema
from stepreel.version import __version__

app = typer.Typer(
    name="stepreel",
    help="Find the key steps of a recorded task, without labels, on your own machine.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(run)
app.command()(demo)
app.command()(info)
app.command()(schema)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"stepreel {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Find the key steps of a recorded task, without labels, on your own machine."""
