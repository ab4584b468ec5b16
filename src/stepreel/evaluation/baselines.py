"""Null baselines: what one gets without looking at the recording."""

from __future__ import annotations

import numpy as np

from stepreel.types import Labels


def equal_split(n_moments: int, n_clusters: int) -> Labels:
    """Cut a recording into `n_clusters` parts of equal length: floor(i·K/n).

    >>> equal_split(6, 3)
    array([0, 0, 1, 1, 2, 2])
    """
    return np.arange(n_moments) * n_clusters // n_moments
