"""`stepreel cache`: how large the cache is, how large it may become, and clearing it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from stepreel.cli.options import Cache, check_cache
from stepreel.cli.terminal import counted, report_errors, say, show

KINDS = {
    "recordings": "features, pictures and embeddings",
    "models": "trained models",
    "predictions": "predictions of evaluations",
    "measures": "figures of evaluations",
    "backbones": "networks",
}


def cache(
    cache: Cache = None,
    limit: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Largest size of this cache from now on: 5GB, or none."),
    ] = None,
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove all that no running command uses.")
    ] = False,
) -> None:
    """Show the cache: its folder, size, limit, and the commands that use it.

    What was not used for longest is removed first when the limit is
    exceeded. Everything in the cache is made again when it is needed. The
    environment variable STEPREEL_CACHE_LIMIT overrides --limit.
    """
    with report_errors():
        from stepreel.system.cache import clear as clear_cache
        from stepreel.system.cache import format_size, set_limit, trim
        from stepreel.system.machine import cache_folder

        root = check_cache(cache) or cache_folder()
        if limit is not None:
            set_limit(root, limit)
        if clear or limit is not None:
            removal = clear_cache(root) if clear else trim(root)
            size = format_size(removal.n_bytes)
            say(f"removed: {counted(removal.n_files, 'file')}, {size}")
            if removal.kept_bytes:
                say(f"in use by running commands, and kept: {format_size(removal.kept_bytes)}")
        # What is shown is the only result, unless something was changed.
        _report(root, say if clear or limit is not None else show)


def _report(root: Path, report: Callable[[str], None]) -> None:
    from stepreel.system.cache import cached_files, format_size, read_limit
    from stepreel.system.sessions import running

    files, limit = cached_files(root), read_limit(root)
    report(f"folder  {root}")
    report(f"size    {format_size(sum(file.size for file in files))}")
    for kind, title in KINDS.items():
        if size := sum(file.size for file in files if file.kind == kind):
            report(f"        {format_size(size)}: {title}")
    report(f"limit   {limit} ({limit.origin})")
    for holder in running(root):
        report(f"in use  {holder}")
