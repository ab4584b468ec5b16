from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from steps.decoders.tasks import in_order, takes_of

from stepreel.features.feature_files import recording_from_arrays
from stepreel.steps.decoders.base import Decoded, Decoder
from stepreel.steps.decoders.catalog import DECODERS
from stepreel.steps.decoders.decode import decode
from stepreel.steps.decoders.few_moments import on_few_moments
from stepreel.types import FeatureTrack


def embedded(takes):
    """The same takes, with the number of every moment as its embedding."""
    tracks = [
        FeatureTrack(
            take.name,
            "embedding",
            take.times,
            np.arange(len(take.times), dtype=np.float32)[:, None],
            np.ones(len(take.times), bool),
        )
        for take in takes.recordings
    ]
    return replace(takes, embeddings=tracks)


@pytest.mark.parametrize(
    ("flags", "is_seen"),
    [({}, False), ({"uses_embedding": True}, True), ({"needs_embedding": True}, True)],
)
def test_only_decoders_that_say_so_see_an_embedding(monkeypatch, flags, is_seen):
    seen = []

    def spy(takes) -> Decoded:
        seen.append(takes.embeddings)
        return DECODERS["clock"].decode(takes)

    monkeypatch.setitem(DECODERS.own, "spy", Decoder(spy, **flags))
    decode("spy", embedded(takes_of(in_order(2)[0])))
    assert (seen[0] is not None) == is_seen


def test_embeddings_are_thinned_with_the_tracks():
    recordings = [
        recording_from_arrays(name, np.arange(n) / 20, {"hands": np.ones((n, 2))})
        for name, n in (("dense", 18), ("short", 3))
    ]
    takes = embedded(takes_of(recordings))
    takes.embeddings[0].valid[4] = False
    seen = []

    @on_few_moments
    def spy(takes) -> Decoded:
        seen.extend(takes.embeddings)
        return DECODERS["clock"].decode(takes)

    clusterings = spy(takes).clusterings
    assert [len(clustering.labels) for clustering in clusterings] == [18, 3]
    assert seen[0].features[:, 0].tolist() == [0, 5, 8, 12]  # 16 and 17 are left over
    assert len(seen[1]) == 3
