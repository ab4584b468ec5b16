"""Which segments are of one kind: alike once slow drift is removed. Neighbours are not, if K > 1.

A kind is the mean of its segments in the main directions of every cue. Every take is z-scored by
itself, so kinds can be compared over takes. These arrays find them again in a later take:

directions.<cue>  (D, d) main directions of a cue
means.<cue>       (kinds, d) mean of every kind in them, without drift
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stepreel.steps.decoders.change_points import (
    CLEAR,
    Changes,
    Values,
    main_directions,
    reduced,
)
from stepreel.steps.decoders.kept_segments import DIRECTIONS
from stepreel.types import Floats, Labels

MEANS = "means."
DRIFT = 2.0  # slower than this many mean segments is drift, not a step
MOST_SEGMENTS = 1000  # kinds are learned from the first takes, up to about so many segments
MOST_ROUNDS = 10  # of moving segments to the nearest kind


def learn_kinds(takes: Sequence[Changes], n_kinds: int, *, fewest: int = 1) -> dict[str, Floats]:
    """Group the segments of all takes into at most `n_kinds`; empty if nothing ever changes.

    There are at least `fewest` if there are as many segments.

    Where all takes are equal parts, no two parts are called alike unless `n_kinds` makes it so.
    """
    has_structure = any(take.structure is None or take.structure > CLEAR for take in takes)
    takes = _first_takes([take for take in takes if take.cells])
    if not takes:
        return {}
    cues = dict.fromkeys(cue for take in takes for cue in take.cells)
    directions = {cue: _pooled_directions(takes, cue) for cue in cues}
    cells = [without_drift(take, directions) for take in takes]
    means = [segment_means(x, take.cuts) for x, take in zip(cells, takes, strict=True)]
    halves = [half_distances(x, take.cuts) for x, take in zip(cells, takes, strict=True)]
    groups = group(
        means, np.concatenate(halves), n_kinds, has_structure=has_structure, fewest=fewest
    )
    of_kinds = settle(means, groups).astype(np.float32)
    ends = np.cumsum([x.shape[1] for x in directions.values()])[:-1]
    by_cue = dict(zip(cues, np.split(of_kinds, ends, axis=1), strict=True))
    return {f"{DIRECTIONS}{cue}": x for cue, x in directions.items()} | {
        f"{MEANS}{cue}": np.ascontiguousarray(x) for cue, x in by_cue.items()
    }


def nearest_kinds(take: Changes, kinds: Mapping[str, Floats]) -> Labels | None:
    """Return the kind of every segment; None where nothing changes, so that any would do."""
    from scipy.spatial.distance import cdist

    cues = [cue for cue in take.cells if f"{MEANS}{cue}" in kinds]
    if not cues:
        return None
    cells = without_drift(take, {cue: kinds[f"{DIRECTIONS}{cue}"] for cue in cues})
    of_kinds = np.concatenate([kinds[f"{MEANS}{cue}"] for cue in cues], axis=1)
    return nearest_apart(cdist(segment_means(cells, take.cuts), of_kinds, "sqeuclidean"))


def number_of_kinds(kinds: Mapping[str, Floats]) -> int:
    """Return how many kinds are known."""
    return next((len(x) for name, x in kinds.items() if name.startswith(MEANS)), 0)


def in_order(kinds: Mapping[str, Floats], order: Labels) -> dict[str, Floats]:
    """Return only the kinds in `order`, in that order."""
    return {name: x[order] if name.startswith(MEANS) else x for name, x in kinds.items()}


def _first_takes(takes: Sequence[Changes]) -> Sequence[Changes]:
    so_far = np.cumsum([len(take.cuts) - 1 for take in takes])
    return takes[: max(1, int((so_far <= MOST_SEGMENTS).sum()))]


def _pooled_directions(takes: Sequence[Changes], cue: str) -> Floats:
    cells = [take.cells[cue] for take in takes if cue in take.cells]
    if len(takes) == 1:
        return takes[0].directions[cue].astype(np.float32)
    return main_directions(np.concatenate(cells, dtype=np.float64)).astype(np.float32)


def without_drift(take: Changes, directions: Mapping[str, Floats]) -> Values:
    """Subtract a Gaussian average from each cue, give all cues equal weight, join them.

    A cue that this take does not show is 0.
    """
    from scipy.ndimage import gaussian_filter1d

    n_cells = int(take.cuts[-1])
    width = DRIFT * n_cells / (len(take.cuts) - 1)
    parts = []
    for cue, of_cue in directions.items():
        x = np.zeros((n_cells, of_cue.shape[1]))
        if cue in take.cells:
            x = reduced(take.cells[cue], of_cue)
            x -= gaussian_filter1d(x, width, axis=0, mode="nearest")
        parts.append(x / (np.sqrt((x**2).sum() / n_cells) or 1.0))
    return np.concatenate(parts, axis=1)


def segment_means(cells: Values, cuts: Labels) -> Values:
    """Return the mean of the cells between neighbouring cuts; an empty part takes one cell.

    >>> segment_means(np.array([[1.0], [3.0], [8.0]]), np.array([0, 2, 3])).tolist()
    [[2.0], [8.0]]
    """
    starts = np.minimum(cuts[:-1], len(cells) - 1)
    ends = np.maximum(cuts[1:], starts + 1)
    sums = np.concatenate([np.zeros((1, cells.shape[1])), np.cumsum(cells, axis=0)])
    means: Values = (sums[ends] - sums[starts]) / (ends - starts)[:, None]
    return means


def half_distances(cells: Values, cuts: Labels) -> Values:
    """Return how far the two halves of every segment are from each other."""
    parts = segment_means(cells, np.sort(np.concatenate([cuts, (cuts[:-1] + cuts[1:]) // 2])))
    distances: Values = np.linalg.norm(parts[::2] - parts[1::2], axis=1)
    return distances


def group(
    means: Sequence[Values],
    halves: Values,
    n_kinds: int,
    *,
    has_structure: bool = True,
    fewest: int = 1,
) -> Labels:
    """Group segments that are clearly alike; if that leaves more than `n_kinds`, go on merging.

    Clearly alike: nearer to each other than most segments' two halves are, and than 19 of 20
    neighbours, which differ or there were no border. A kind is as wide as its most unlike two;
    neighbours are grouped only if `n_kinds` leaves no other way.

    means          of the segments of every take, in order
    halves         of all segments: how far their halves are from each other
    has_structure  False: nothing is alike, and segments are merged only because of `n_kinds`
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist

    pooled = np.concatenate(means)
    n = len(pooled)
    if n < 2:
        return np.zeros(n, np.int64)
    distances = pdist(pooled)
    follows = np.setdiff1d(np.arange(1, n), np.cumsum([len(of_take) for of_take in means]))
    before = follows - 1
    pairs = before * n - before * follows // 2  # position of (i, i + 1) among all pairs
    limit = float(np.median(halves))
    if len(pairs):
        limit = min(limit, float(np.quantile(distances[pairs], 0.05)))
    distances[pairs] += distances.max() + 1.0
    tree = linkage(distances, "complete")
    groups = fcluster(tree, limit, "distance") if has_structure else np.arange(1, n + 1)
    if groups.max() < fewest:
        groups = fcluster(tree, fewest, "maxclust")
    if groups.max() > n_kinds:
        groups = fcluster(tree, n_kinds, "maxclust")
    return np.asarray(groups, np.int64) - 1


def settle(means: Sequence[Values], groups: Labels) -> Values:
    """Move segments to the nearest kind until none moves; return the mean of every kind.

    Neighbours that were grouped come apart by this.
    """
    from scipy.spatial.distance import cdist

    pooled = np.concatenate(means)
    of_kinds = _means_of(pooled, groups)
    for _ in range(MOST_ROUNDS):
        nearest = [nearest_apart(cdist(of_take, of_kinds, "sqeuclidean")) for of_take in means]
        moved = np.concatenate(nearest)
        if np.array_equal(moved, groups):
            break
        groups = moved
        of_kinds = _means_of(pooled, groups)
    return of_kinds


def _means_of(pooled: Values, groups: Labels) -> Values:
    return np.stack([pooled[groups == kind].mean(axis=0) for kind in np.unique(groups)])


def nearest_apart(distances: Values) -> Labels:
    """Return a column for every row: the least sum in which neighbouring rows differ.

    With one column, they cannot.

    >>> nearest_apart(np.array([[0.0, 9.0, 9.0], [1.0, 9.0, 3.0], [9.0, 0.0, 9.0]])).tolist()
    [0, 2, 1]
    """
    n_rows, n_columns = distances.shape
    if n_columns == 1:
        return np.zeros(n_rows, np.int64)
    columns, least = np.arange(n_columns), distances[0]
    came_from = np.zeros((n_rows, n_columns), np.int64)
    for row in range(1, n_rows):
        best, second = np.argsort(least, kind="stable")[:2]
        came_from[row] = np.where(columns == best, second, best)
        least = distances[row] + least[came_from[row]]
    chosen = [int(least.argmin())]
    for row in range(n_rows - 1, 0, -1):
        chosen.append(int(came_from[row, chosen[-1]]))
    return np.array(chosen[::-1], np.int64)
