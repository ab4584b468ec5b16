"""Write a comparison: compare.json, compare.csv and the page compare.html, or none of them."""

from __future__ import annotations

from pathlib import Path

from stepreel.comparison.csv_table import to_csv
from stepreel.comparison.page import render_comparison
from stepreel.comparison.schema import Comparison
from stepreel.comparison.takes import Takes
from stepreel.report.index_comparison import COMPARISON
from stepreel.system.files import explain_write_errors, write_all

PAGE, JSON, CSV = COMPARISON, "compare.json", "compare.csv"


def write_comparison(comparison: Comparison, read: Takes, output: Path) -> list[Path]:
    """Write all files of a comparison into a folder; return their paths, the page first.

    Everything is made before anything is written, and replaced only once all of it is written.
    """
    files = {
        PAGE: render_comparison(comparison, read, output),
        JSON: comparison.to_json(),
        CSV: to_csv(comparison),
    }
    with explain_write_errors(output):
        write_all({output / name: text for name, text in files.items()})
    return [output / name for name in files]
