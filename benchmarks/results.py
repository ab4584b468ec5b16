"""Measure every set there is, and write docs/results.md.

    python benchmarks/results.py DATA [-o docs/results.md] [--work build/results] [--only NAME …]

DATA holds the folders named in results_sets.py; the document is written only if all are there.
Every set is one `stepreel evaluate`, whose command stands beside its figures; what is done is kept,
and the same command goes on from there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from results_document import Results, document
from results_sets import LABELS_ALONE, SETS, in_folder, typed

from stepreel.system.files import write_text


def evaluate(arguments: Sequence[str], data: Path, output: Path, cache: Path) -> Results | None:
    """Run one evaluation; None if the set is not there."""
    words = in_folder(arguments, f"{data}/")
    if not Path(words[1]).is_dir():
        print(f"{words[1]}: not here, left out", flush=True)
        return None
    print("stepreel evaluate", *arguments, flush=True)
    command = [sys.executable, "-m", "stepreel", "evaluate", *words]
    done = subprocess.run([*command, "-o", str(output), "--cache", str(cache)], check=False)
    if done.returncode not in (0, 1):  # 1: something was left out because of --lenient
        raise SystemExit(f"stepreel evaluate ended with status {done.returncode}")
    results: Results = json.loads((output / "results.json").read_text(encoding="utf-8"))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/results.md"))
    parser.add_argument("--work", type=Path, default=Path("build/results"))
    parser.add_argument("--cache", type=Path, help="where features and models are kept")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="measure these sets, and write no document")
    options = parser.parse_args()
    cache = options.cache or options.work / "cache"
    found: dict[str, Results] = {}
    extras: dict[str, Results] = {}
    for one in (*SETS, *LABELS_ALONE):
        if options.only is not None and one.name not in options.only:
            continue
        arguments = typed(one, seeds=options.seeds)
        results = evaluate(arguments, options.data, options.work / one.name, cache)
        if results is None:
            continue
        found[one.name] = results
        if one.extra:
            arguments = typed(one, seeds=options.seeds, extra=True)
            more = evaluate(arguments, options.data, options.work / f"{one.name}-more", cache)
            assert more is not None
            extras[one.name] = more
    if options.only is None:
        if missing := [one.title for one in (*SETS, *LABELS_ALONE) if one.name not in found]:
            raise SystemExit(f"no document was written: {', '.join(missing)} not in {options.data}")
        write_text(options.output, document(found, extras, options.seeds))
        print(options.output)


if __name__ == "__main__":
    main()
