"""Check whether what a file says was made from a recording's cells can be true."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stepreel.derived import ALONE, Fits, Group, has_form
from stepreel.types import Floats

DIRECTIONS = "directions."  # begins the names of those of every cue
ABSENT = np.zeros(())


def fits_cells(n_cells: int, width: int) -> Fits:
    """Return what tells whether arrays can be the cells of a cue."""
    return lambda kept: has_form(kept.get(ALONE), "float32", n_cells, width)


def fits_segments(kept: Group, cells: Mapping[str, Floats], n_cells: int) -> bool:
    """Return whether arrays can be the segments of a recording with these cells of every cue."""
    cuts, natural, certainty, structure = (
        kept.get(name, ABSENT) for name in ("cuts", "natural", "certainty", "structure")
    )
    return (
        has_form(cuts, "int64", None)
        and [*cuts[:1], *cuts[-1:]] == [0, n_cells]
        and bool((np.diff(cuts) > 0).all())
        and has_form(natural, "int64", None)
        and bool(((natural >= 1) & (natural <= n_cells)).all())
        and has_form(certainty, "float64", n_cells)
        and bool(((certainty >= 0) & (certainty <= 1)).all())
        and has_form(np.isnan(structure), "bool", 1)  # not a number if this was not asked
        and structure.dtype.name == "float64"
        and all(
            has_form(kept.get(f"{DIRECTIONS}{cue}"), "float64", x.shape[1], None)
            for cue, x in cells.items()
        )
    )
