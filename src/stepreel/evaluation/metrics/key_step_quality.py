"""Key-step quality without labels: how well the moments shown stand for a recording, and differ.

Measured on raw features (all cues side by side, z-scored over the recording, unit length), in which
no method is at home. Kernel: s = (1 + cosine) / 2, from 0 to 1; distance: Euclidean, from 0 to 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepreel.types import Floats, Labels

KERNEL = "(1 + cosine) / 2 of raw features, z-scored over the recording; distance: Euclidean"


@dataclass(frozen=True)
class Quality:
    """How good a choice of moments is.

    representation  mean over all moments of the similarity to the most similar one shown, percent
    diversity       smallest distance between two that are shown; NaN if there is only one
    """

    representation: float
    diversity: float


def quality(features: Floats, shown: Labels) -> Quality:
    """Judge the moments `shown` (positions) of a recording.

    >>> quality(np.eye(2, dtype=np.float32), np.array([0, 1]))
    Quality(representation=100.0, diversity=1.4142135381698608)
    """
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    unit = features / np.maximum(lengths, 1e-12)
    picked = unit[np.unique(shown)]
    if len(picked) == 0:
        return Quality(0.0, float("nan"))
    similar = (1 + unit @ picked.T) / 2  # (T, S)
    products = picked @ picked.T
    own = np.diag(products)  # 1, or 0 where nothing is known
    squared = np.maximum(own[:, None] + own - 2 * products, 0)
    np.fill_diagonal(squared, np.inf)
    diversity = float(np.sqrt(squared.min())) if len(picked) > 1 else float("nan")
    return Quality(float(100 * similar.max(axis=1).mean()), diversity)
