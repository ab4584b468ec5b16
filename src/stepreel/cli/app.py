"""The command line application and its commands."""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from stepreel.cli.cache import cache
from stepreel.cli.compare import compare
from stepreel.cli.demo import demo
from stepreel.cli.embed import embed
from stepreel.cli.evaluate import evaluate
from stepreel.cli.info import info
from stepreel.cli.render import render
from stepreel.cli.run import run
from stepreel.cli.schema import schema
from stepreel.cli.score import score
from stepreel.cli.train import train
from stepreel.cli.tune import tune
from stepreel.version import __version__


class _HelpfulCommand(TyperCommand):
    """A command that says what it expects: known options, and the values of each."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            if "" in args:  # as a path, it would mean the current folder
                raise typer.BadParameter(
                    "a name or value is empty; is a variable of the shell not set?", ctx=ctx
                )
            return super().parse_args(ctx, args)
        except Exception as problem:
            if hasattr(problem, "option_name") and hasattr(problem, "message"):
                known = sorted(name for option in self.params for name in option.opts)
                options = ", ".join(name for name in known if name.startswith("-"))
                problem.message = (
                    f"{problem.message.rstrip('.')}. Known options: {options}. "
                    "Put files whose names start with a dash after `--`."
                )
            elif isinstance(problem, typer.BadParameter):
                self._name_expected_values(problem)
            raise

    def _name_expected_values(self, problem: typer.BadParameter) -> None:
        """Replace the words of the library that checks values, if it is one that does."""
        from pydantic import ValidationError

        from stepreel.validation import shown

        cause, option = problem.__cause__, problem.param
        if not isinstance(cause, ValidationError) or option is None or self.callback is None:
            return
        hint = get_type_hints(self.callback, include_extras=True)[str(option.name)]
        given = shown(cause.errors()[0]["input"])
        problem.message = f"{given} is wrong; expected {_expected(hint)}"


def _expected(hint: Any) -> str:
    """Describe the values of an option from its annotation."""
    from pydantic import Field, TypeAdapter

    from stepreel.validation import describe

    declared, *extras = get_args(hint)
    kinds = [kind for kind in get_args(declared) if kind is not type(None)]
    kind = kinds[0] if type(None) in get_args(declared) else declared
    bounds = extras[0]
    schema = TypeAdapter(kind).json_schema()
    if schema.get("type") in ("integer", "number"):
        bounded: Any = Annotated[kind, Field(ge=bounds.min, le=bounds.max)]
        schema = TypeAdapter(bounded).json_schema()
    return describe(schema, schema)


app = typer.Typer(
    name="stepreel",
    help="Find the key steps of a recorded task, without labels, on your own machine.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_MAIN = (run, tune, compare, render)
_OTHERS = (train, embed, evaluate, score, demo, info, cache, schema)
for command in (*_MAIN, *_OTHERS):
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
