from __future__ import annotations

import numpy as np
import pytest

from stepreel.errors import RecordingError
from stepreel.steps.clustering import assign_to_centres, cluster_recordings
from stepreel.types import FeatureTrack


def track(points, name="r"):
    points = np.asarray(points, np.float32)
    return FeatureTrack(
        name, "embedding", np.arange(len(points)) * 1.0, points, np.ones(len(points), bool)
    )


def test_clear_groups_are_found_and_numbered_in_order_of_appearance():
    points = [[5, 5], [5, 5.1], [0, 0], [0.1, 0], [5, 5], [9, 0]]
    (clustering,) = cluster_recordings([track(points)], 3, seed=0)
    assert clustering.labels.tolist() == [0, 0, 1, 1, 0, 2]


def test_recordings_of_a_task_share_their_clusters():
    a, b = cluster_recordings(
        [track([[0, 0], [4, 4]], "a"), track([[4, 4.1], [0, 0.1]], "b")], 2, seed=0
    )
    assert a.labels.tolist() == [0, 1]
    assert b.labels.tolist() == [1, 0]


def test_distances_are_to_the_nearest_centre_and_certainty_looks_at_the_next_one():
    clustering = assign_to_centres(track([[0, 1], [4, 0]]), np.array([[0, 0], [4, 0]], np.float32))
    assert clustering.distances == pytest.approx([1, 0])
    assert clustering.certainty == pytest.approx([1 - 1 / np.sqrt(17), 1])


def test_fewer_moments_than_clusters_give_fewer_clusters():
    (clustering,) = cluster_recordings([track([[0, 0], [1, 1]])], 7, seed=0)
    assert clustering.n_clusters == 2


def test_equal_moments_form_one_cluster():
    (clustering,) = cluster_recordings([track([[1, 1]] * 5)], 3, seed=0)
    assert set(clustering.labels) == {0}
    assert clustering.certainty.tolist() == [1] * 5


def test_invalid_moments_are_not_used_to_fit_clusters():
    embedding = track([[0, 0], [0, 0.2], [50, 50], [4, 4], [4, 4.2], [-90, 0]])
    embedding.valid[[2, 5]] = False
    (clustering,) = cluster_recordings([embedding], 2, seed=0)
    assert clustering.labels[[0, 1, 3, 4]].tolist() == [0, 0, 1, 1]
    assert clustering.excluded.tolist() == [False, False, True, False, False, True]


def test_clustering_fails_if_all_moments_are_invalid():
    embedding = track([[0, 0], [1, 1]])
    embedding.valid[:] = False
    with pytest.raises(RecordingError, match="nothing to cluster"):
        cluster_recordings([embedding], 2, seed=0)
