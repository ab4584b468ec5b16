"""Count how many distances of libraries differ in the last digits from those stepreel computes.

`python benchmarks/distances.py`: random unit vectors of the size of an embedding, seven centres.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances

from stepreel.steps.clustering import distances_to


def main() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 128)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    centres = rows[:7] + np.float32(0.01)
    ours = distances_to(rows, centres)
    others = {
        "scikit-learn euclidean_distances": euclidean_distances(rows, centres),
        "scipy cdist": cdist(rows, centres).astype(np.float32),
    }
    for name, distances in others.items():
        share = float(np.mean(distances != ours))
        print(f"{name}: {share:.0%} differ, by at most {np.abs(distances - ours).max():.1e}")


if __name__ == "__main__":
    main()
