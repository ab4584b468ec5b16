"""Key-step quality without labels: how well the moments shown represent a recording, and differ.

Measured on raw features (all cues concatenated, z-scored over the recording, unit length), which
favour no method. Kernel: s = (1 + cosine) / 2, from 0 to 1; distance: Euclidean, from 0 to 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepreel.types import Floats, Labels

KERNEL = "(1 + cosine) / 2 of raw features, z-scored over the recording; distance: Euclidean"


@dataclass(frozen=True)
class KeyStepQuality:
    """How good a choice of moments is, on one recording.

    representation  mean over all moments of the similarity to the most similar one shown, percent
    diversity       smallest distance between two moments shown; NaN if there is only one
    """

    representation: float
    diversity: float


def key_step_quality(features: Floats, shown: Labels) -> KeyStepQuality:
    """Score the moments `shown` (positions) of a recording with features (T, D).

    >>> key_step_quality(np.eye(2, dtype=np.float32), np.array([0, 1]))
    KeyStepQuality(representation=100.0, diversity=1.4142135381698608)
    """
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    unit = features / np.maximum(lengths, 1e-12)
    picked = unit[np.unique(shown)]
    if len(picked) == 0:
        return KeyStepQuality(0.0, float("nan"))
    similar = (1 + unit @ picked.T) / 2  # (T, S)
    products = picked @ picked.T
    own = np.diag(products)  # 1, or 0 where nothing is known
    squared = np.maximum(own[:, None] + own - 2 * products, 0)
    np.fill_diagonal(squared, np.inf)
    diversity = float(np.sqrt(squared.min())) if len(picked) > 1 else float("nan")
    return KeyStepQuality(float(100 * similar.max(axis=1).mean()), diversity)
