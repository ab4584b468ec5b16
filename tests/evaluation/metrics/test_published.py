"""The null rows of published tables come out of the true annotations, where these are at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stepreel.evaluation.datasets.base import Request
from stepreel.evaluation.datasets.egoprocel import FORMAT
from stepreel.evaluation.methods.baselines import BASELINES
from stepreel.evaluation.metrics.localization import score_localization
from stepreel.evaluation.prepare import prepare_task
from stepreel.evaluation.truth.annotation import Problems

ANNOTATIONS = Path(__file__).parents[4] / "shared" / "data" / "egoprocel"
KINDS = ("random", "concatenated-split", "equal-split", "one-cluster")
ROWS = {  # F1 and IoU at 6 Hz, K = 7, protocol egoprocel; means over a dataset's tasks
    "meccano": ((12.9, 5.1), (16.2, 6.7), (38.8, 19.6), (9.6, 7.2)),
    "epic-tents": ((13.8, 6.4), (15.9, 7.9), (40.6, 21.7), (7.6, 5.1)),
    "egtea": ((15.2, 4.6), (20.4, 6.8), (29.1, 9.9), (13.2, 11.8)),
    "cmu-mmac": ((15.5, 5.8), (19.0, 7.5), (38.3, 17.3), (12.1, 9.9)),
    "pc-assembly": ((14.4, 6.9), (18.1, 8.9), (46.0, 27.6), (6.7, 4.4)),
    "pc-disassembly": ((14.8, 7.0), (17.1, 8.7), (49.6, 31.5), (5.9, 3.7)),
}

pytestmark = pytest.mark.skipif(
    not ANNOTATIONS.is_dir(), reason="the EgoProceL annotations are not beside the repository"
)


def truths(group):
    tasks = FORMAT.read(Request(ANNOTATIONS, Problems(), task=group))
    rate = FORMAT.labels_rate
    return [prepare_task(task, Problems(), labels_rate=rate).truth for task in tasks]


@pytest.mark.parametrize("group", ROWS)
def test_the_null_rows_come_out(group):
    tasks = truths(group)
    for method, expected in zip(KINDS, ROWS[group], strict=True):
        scores = [
            score_localization(
                truth, BASELINES[method]([len(x) for x in truth], 7, seed), 7, protocol="egoprocel"
            )
            for truth in tasks
            for seed in ((0, 1, 2) if method == "random" else (0,))
        ]
        own = (np.mean([one.f1 for one in scores]), np.mean([one.iou for one in scores]))
        assert own == pytest.approx(expected, abs=0.3), method


def test_one_cluster_for_everything_scores_59_where_counts_are_pooled():
    (truth,) = truths("meccano")
    one = BASELINES["one-cluster"]([len(x) for x in truth], 7, 0)
    assert score_localization(truth, one, 7, protocol="per-video-pooled").f1 == pytest.approx(
        59, abs=0.3
    )
