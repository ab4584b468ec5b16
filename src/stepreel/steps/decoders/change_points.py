"""Where the steps of ONE recording begin: the recording is cut where it changes. No training.

1. Moments are averaged into cells; each cue is z-scored, reduced and clipped (`reduced`).
2. How alike two cells are: a Gaussian kernel, mean over cues and three scales (`likeness`). Only
   pairs less than LONGEST typical steps apart are kept: memory is linear in the recording.
3. A segment costs its scatter in that kernel. Dynamic programming finds the best borders for every
   number at once (`best_borders`); the number is where one more explains too little. A second
   pass prefers segments of like length.
4. If borders explain no more than in random tracks as smooth as these, equal parts are returned:
   neither in the number of segments that is found, nor in the one that was asked for.

Lengths are in typical steps, from the recording's length alone; nothing depends on cue or source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepreel.derived import Derived, Name
from stepreel.steps.decoders.kept_segments import DIRECTIONS, fits_cells, fits_segments
from stepreel.steps.decoders.segmentations import agreement, best_borders, best_segmentations
from stepreel.types import Floats, Labels, Mask, Seconds, moment_seconds

Values = NDArray[np.float64]
SHORTEST_STEP, SHORTEST_SEGMENT = 5.0, 0.6  # s: of a typical step, of any segment
CELLS_PER_STEP = 25
DIMS_PER_CUE = 12
CLIP = 2.5  # standard deviations: a cue's rare extremes are no steps
SCALES = (0.06, 0.12, 0.24)  # smoothing, in typical steps
LONGEST = 8  # a segment's limit, in typical steps
N_RANDOM, CLEAR = 24, 2.0  # random tracks; standard deviations above them that count as structure


@dataclass(frozen=True)
class Changes:
    """Segments of one recording: segment i lasts from edges[i] to edges[i + 1].

    edges      (S + 1,) in seconds
    cuts       (S + 1,) the same in cells
    segments   (T,) index of the segment of each moment
    certainty  (T,) 0 to 1: that a moment belongs to the same step as the middle of its segment
    structure  how much more borders explain than in random tracks, in standard deviations; up to
               CLEAR the segments are equal parts; None if this was not asked
    cells      of every cue that changes, (cells, D): z-scored means over moments
    directions of every cue that changes, (D, d): those that keep most of its cells
    natural    other numbers of segments that are natural here
    """

    edges: Values
    cuts: Labels
    segments: Labels
    certainty: Values
    structure: float | None
    cells: Mapping[str, Floats]
    directions: Mapping[str, Values]
    natural: tuple[int, ...]

    @property
    def borders(self) -> Values:
        """Where one segment ends and the next begins."""
        return self.edges[1:-1]


def find_changes(
    times: Seconds,
    cues: Mapping[str, NDArray[np.floating]],
    valid: Mapping[str, Mask] | None = None,
    *,
    steps: int | tuple[int, int] | None = None,
    seed: int | None = 0,
    columns: Mapping[str, NDArray[np.int64]] | None = None,
    derived: Derived | None = None,
    name: Name = (),
) -> Changes:
    """Divide a recording into segments.

    times    (T,) ascending;  cues (T, D) each;  valid (T,) each: where a cue was seen
    steps    the number of segments, or its least and greatest value; if left out, from the tracks
    seed     of the random tracks; None for the best borders without this comparison
    columns  of every cue to look at; all of them if left out
    derived  what was made from these cues before, and keeps what is made now
    name     of the result in `derived`: tells `seed`, `columns`, and which cues there are
    """
    derived = Derived() if derived is None else derived
    known = None
    if steps is not None and seed is not None:
        found_freely = find_changes(
            times, cues, valid, seed=seed, columns=columns, derived=derived, name=name
        )
        known = found_freely.structure
    moment = moment_seconds(times)
    limits = limits_of(steps, len(times))
    expected, step_seconds = expected_number(len(times) * moment, limits)
    per_cell = max(1, round(step_seconds / CELLS_PER_STEP / moment))
    masks = valid or dict.fromkeys(cues, np.ones(len(times), np.bool_))
    n = -(-len(times) // per_cell)
    every = {
        cue: derived.get(
            ("cells", cue, per_cell),
            partial(kept_cells, x, masks[cue], per_cell),
            fits_cells(n, x.shape[1]),
        )
        for cue, x in cues.items()
    }
    chosen = every if columns is None else {cue: x[:, columns[cue]] for cue, x in every.items()}
    cells = {cue: x for cue, x in chosen.items() if x.any()}
    cell_seconds = per_cell * moment
    step = step_seconds / cell_seconds  # cells
    found = derived.get_all(
        ("segments", steps, *name),
        lambda: _segments(cells, n, step, expected, limits, cell_seconds, seed, known),
        lambda kept: fits_segments(kept, cells, n),
    )
    structure = float(found["structure"][0])
    edges = np.append(times[found["cuts"][:-1] * per_cell], times[-1] + moment)
    return Changes(
        edges=edges,
        cuts=found["cuts"],
        segments=np.searchsorted(edges[1:-1], times, side="right"),
        certainty=np.repeat(found["certainty"], per_cell)[: len(times)],
        structure=None if np.isnan(structure) else structure,
        cells=cells,
        natural=tuple(found["natural"].tolist()),
        directions={cue: found[f"{DIRECTIONS}{cue}"] for cue in cells},
    )


def _segments(
    cells: Mapping[str, Floats],
    n: int,
    step: float,
    expected: float,
    limits: tuple[int, int],
    cell_seconds: float,
    seed: int | None,
    known: float | None,
) -> dict[str, NDArray[Any]]:
    """Return cuts, certainty of every cell, structure (NaN if not asked), and main directions.

    known  structure in the number of segments that was found; if that is clear, so is any other
    """
    directions = {cue: main_directions(x.astype(np.float64)) for cue, x in cells.items()}
    tracks = [reduced(x, directions[cue]) for cue, x in cells.items()]
    shortest = max(1, min(round(SHORTEST_SEGMENT / cell_seconds), n // limits[0]))
    cost, unit = segment_costs(tracks, n, step, expected)
    found, natural = best_segmentations(cost, unit, expected, shortest, limits)
    structure = known
    if seed is not None and (known is None or known <= CLEAR):
        structure = structure_of(tracks, step, expected, np.random.default_rng(seed))
    if not tracks or (structure is not None and structure <= CLEAR):
        number = len(found[0]) - 1 if tracks else int(np.clip(round(expected), *limits))
        found = [np.linspace(0, n, min(number, n) + 1).round().astype(np.int64)]
        natural = []
    return {
        "cuts": found[0],
        "certainty": agreement(n, found, SCALES[1] * step),
        "natural": np.array(natural, np.int64),
        "structure": np.array([np.nan if structure is None else structure]),
        **{f"{DIRECTIONS}{cue}": x for cue, x in directions.items()},
    }


def kept_cells(x: NDArray[np.floating], valid: Mask, per_cell: int) -> Floats:
    """Return standard cells as they are kept; half the space of what they are computed with."""
    return standard_cells(x, valid, per_cell).astype(np.float32)


def limits_of(steps: int | tuple[int, int] | None, n_moments: int) -> tuple[int, int]:
    """Return the least and the greatest number of segments, at most one for each moment.

    >>> limits_of((3, 8), 5), limits_of(None, 5)
    ((3, 5), (1, 5))
    """
    fewest, most = (steps, steps) if isinstance(steps, int) else steps or (1, n_moments)
    most = max(1, min(most, n_moments))
    return max(1, min(fewest, most)), most


def expected_number(seconds: float, limits: tuple[int, int]) -> tuple[float, float]:
    """Return how many segments are usual in a recording of this length, and a typical step.

    A step lasts at least SHORTEST_STEP, where `limits` leave room.
    >>> [round(x, 1) for x in expected_number(60.0, (1, 240))]
    [14.4, 5.0]
    """
    usual = 3.3 * seconds**0.36
    expected = float(np.clip(usual, *limits))
    shortest = SHORTEST_STEP if expected == usual else 0.0
    return expected, max(shortest, seconds / expected)


def standard_cells(x: NDArray[np.floating], valid: Mask, per_cell: int) -> Values:
    """Average moments into cells, and z-score every column; one that does not change is 0.

    Gaps take the nearest valid moment. A cue that was never seen is 0.
    """
    starts = np.arange(0, len(x), per_cell)
    seen = np.flatnonzero(valid)
    if len(seen) == 0:
        return np.zeros((len(starts), x.shape[1]))
    if len(seen) < len(x):
        x = x[seen[np.searchsorted((seen[1:] + seen[:-1]) / 2, np.arange(len(x)))]]
    cells = np.add.reduceat(x, starts, axis=0, dtype=np.float64)
    cells /= np.diff(np.append(starts, len(x)))[:, None]
    cells -= cells.mean(axis=0)
    spread = cells.std(axis=0)
    moves = spread > 1e-6 * (1e-6 + np.abs(x).max(axis=0, initial=0.0))
    cells /= np.where(moves, spread, np.inf)
    return cells


def main_directions(cells: Values) -> Values:
    """Return directions that keep most of cells (cells, D): (D, at most DIMS_PER_CUE)."""
    from scipy.linalg import eigh

    moving = np.flatnonzero(cells.any(axis=0))
    x = cells[:, moving]
    if len(moving) <= DIMS_PER_CUE:
        vectors = np.eye(len(moving))
    else:  # through the smaller of the two products
        is_narrow = x.shape[1] <= x.shape[0]
        products = x.T @ x if is_narrow else x @ x.T
        n = len(products)
        values, vectors = eigh(products, subset_by_index=[max(0, n - DIMS_PER_CUE), n - 1])
        if not is_narrow:
            vectors = x.T @ (vectors / np.sqrt(np.maximum(values, 1e-9 * values[-1])))
    directions = np.zeros((cells.shape[1], vectors.shape[1]))
    directions[moving] = vectors
    return directions


def reduced(cells: Values | Floats, directions: Values | Floats) -> Values:
    """Project cells, and clip: (cells, directions)."""
    track = (cells @ directions).astype(np.float64)
    limit = CLIP * track.std(axis=0)
    return np.asarray(np.clip(track, -limit, limit))


def random_track(track: Values, rng: np.random.Generator) -> Values:
    """Return a track with the same spectrum but random phases: as smooth, without steps."""
    n = len(track)
    spectrum = np.fft.rfft(np.concatenate([track, track[::-1]]), axis=0)
    spectrum *= np.exp(2j * np.pi * rng.random(len(spectrum)))[:, None]  # same for all dimensions
    return np.asarray(np.fft.irfft(spectrum, n=2 * n, axis=0)[:n])


def structure_of(
    tracks: list[Values], step: float, expected: float, rng: np.random.Generator
) -> float:
    """Compare the scatter left by the expected number of segments with that of random tracks."""
    if not tracks or len(tracks[0]) < 4:
        return 0.0
    if step >= 12:  # half the cells are enough here, at a quarter of the time
        n = len(tracks[0]) // 2 * 2
        tracks, step = [(track[:n:2] + track[1:n:2]) / 2 for track in tracks], step / 2
    number = max(2, min(round(expected), len(tracks[0]) // 2))

    def left(of: list[Values]) -> float:
        cost, unit = segment_costs(of, len(of[0]), step, expected)
        return float(best_borders(cost, number)[0][-1]) / (unit * expected)

    random = np.array([left([random_track(x, rng) for x in tracks]) for _ in range(N_RANDOM)])
    return float(random.mean() - left(tracks)) / max(float(random.std(ddof=1)), 1e-9)


def likeness(x: Values, n_lags: int) -> Values:
    """Return exp(-d²/median d²) of cells j and j - m at [j, m], 0 where there is none."""
    squares = np.full((len(x), n_lags + 1), np.inf)
    squares[:, 0] = 0.0
    norms = np.einsum("ij,ij->i", x, x)
    for lag in range(1, min(n_lags, len(x) - 1) + 1):
        products = np.einsum("ij,ij->i", x[lag:], x[:-lag])
        squares[lag:, lag] = np.maximum(norms[lag:] + norms[:-lag] - 2 * products, 0)
    between = squares[:, 1:][np.isfinite(squares[:, 1:])]
    return np.exp(-squares / (float(np.median(between)) or float(between.mean()) or 1.0))


def segment_costs(
    tracks: list[Values], n: int, step: float, expected: float
) -> tuple[Values, float]:
    """Return the scatter of every segment, and the unit of penalties: all scatter / expected.

    cost[j, l]  of the l cells before cell j: l - (sum of their likeness) / l; inf if there is none
    """
    from scipy.ndimage import gaussian_filter1d

    longest = min(n, max(1, int(LONGEST * step)))
    like = np.zeros((n, longest + 1))
    for track in tracks:
        for scale in SCALES:
            smooth = gaussian_filter1d(track, scale * step, axis=0, mode="nearest")
            like += likeness(smooth, longest) / (len(tracks) * len(SCALES))
    cost = np.full((n + 1, longest + 1), np.inf)
    total = np.zeros(n + 1)
    to_earlier = np.cumsum(like[:, 1:], axis=1)
    for length in range(1, longest + 1):
        new = like[length - 1 :, 0].copy()
        if length > 1:
            new += 2 * to_earlier[length - 1 :, length - 2]
        total = np.concatenate([np.zeros(length), total[length - 1 : -1] + new])
        cost[length:, length] = length - total[length:] / length
    n_pairs = longest * n - longest * (longest + 1) / 2
    apart = 1 - like[:, 1:].sum() / n_pairs if n_pairs > 0 else 1.0
    return cost, max(n * apart, 1e-6) / expected
