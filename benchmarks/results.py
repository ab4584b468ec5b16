"""Measure all sets, and write docs/results.md and the pages below docs/results/.

    python benchmarks/results.py DATA [-o docs/results.md] [--work build/results] [--only NAME …]

DATA contains the folders named in results_sets.py; the document is written only if all are there.
Every set is one `stepreel evaluate`, whose command is printed next to its figures. Finished work is
kept, and the same command continues from there.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from results_document import pages, write_pages
from results_sets import ANNOTATIONS_ONLY, SETS, evaluate_arguments, in_folder

from stepreel.evaluation.results import Results, read_results


def evaluate(arguments: Sequence[str], data: Path, output: Path, cache: Path) -> Results | None:
    """Run one evaluation; None if the set does not exist."""
    words = in_folder(arguments, f"{data}/")
    if not Path(words[1]).is_dir():
        print(f"{words[1]}: does not exist, skipped", flush=True)
        return None
    print("stepreel evaluate", *arguments, flush=True)
    command = [sys.executable, "-m", "stepreel", "evaluate", *words]
    done = subprocess.run([*command, "-o", str(output), "--cache", str(cache)], check=False)
    if done.returncode not in (0, 1):  # 1: something was left out because of --lenient
        raise SystemExit(f"stepreel evaluate ended with status {done.returncode}")
    return read_results(output / "results.json")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder of all sets")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("docs/results.md"), help="the entry page"
    )
    parser.add_argument("--work", type=Path, default=Path("build/results"))
    parser.add_argument("--cache", type=Path, help="where features and models are kept")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="measure these sets, and write no pages")
    options = parser.parse_args()
    cache = options.cache or options.work / "cache"
    results: dict[str, Results] = {}
    extras: dict[str, Results] = {}
    for dataset in (*SETS, *ANNOTATIONS_ONLY):
        if options.only is not None and dataset.name not in options.only:
            continue
        arguments = evaluate_arguments(dataset, seeds=options.seeds)
        measured = evaluate(arguments, options.data, options.work / dataset.name, cache)
        if measured is None:
            continue
        results[dataset.name] = measured
        if dataset.extra:
            arguments = evaluate_arguments(dataset, seeds=options.seeds, extra=True)
            more = evaluate(arguments, options.data, options.work / f"{dataset.name}-more", cache)
            assert more is not None
            extras[dataset.name] = more
    if options.only is None:
        if missing := [s.title for s in (*SETS, *ANNOTATIONS_ONLY) if s.name not in results]:
            titles = ", ".join(missing)
            raise SystemExit(f"no page was written: {titles} not found in {options.data}")
        for file in write_pages(options.output, pages(results, extras, options.seeds)):
            print(file)


if __name__ == "__main__":
    main()
