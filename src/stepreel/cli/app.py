"""The command line application and its commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from stepreel.cli.cache import cache
from stepreel.cli.demo import demo
from stepreel.cli.embed import embed
from stepreel.cli.evaluate import evaluate
from stepreel.cli.info import info
from stepreel.cli.render import render
from stepreel.cli.run import run
from stepreel.cli.schema import schema
from stepreel.cli.score import score
from stepreel.cli.train import train
from stepreel.version import __version__


class _HelpfulCommand(TyperCommand):
    """A command whose error for an unknown option lists the known ones."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except Exception as problem:
            if hasattr(problem, "option_name") and hasattr(problem, "message"):
                known = sorted(name for option in self.params for name in option.opts)
                options = ", ".join(name for name in known if name.startswith("-"))
                problem.message = (
                    f"{problem.message.rstrip('.')}. Known options: {options}. "
                    "Put files whose names start with a dash after `--`."
                )
            raise


app = typer.Typer(
    name="stepreel",
    help="Find the key steps of a recorded task, without labels, on your own machine.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (run, render, train, embed, evaluate, score, demo, info, cache, schema):
    app.command(cls=_HelpfulCommand)(command)


def _print_version(requested: bool) -> None:
    if requested:
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
