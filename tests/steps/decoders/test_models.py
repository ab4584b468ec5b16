from __future__ import annotations

import numpy as np
import pytest
from steps.decoders.tasks import recurring, takes_of

from stepreel.errors import ModelError
from stepreel.learn.model import build_model
from stepreel.steps.decoders.decode import decode, find_kinds_again


@pytest.mark.parametrize(
    ("decoder", "name", "damage"),
    [
        ("hmm", "means", lambda x: x * 1e38),
        ("hmm", "time_weight", lambda x: np.zeros((1, 0))),
        ("hmm", "start", lambda x: -x),
        ("clock", "borders", lambda x: x[::-1]),
        ("clock", "borders", lambda x: x[:0]),
        ("clock", "steps", lambda x: x[:, 1:]),
    ],
)
def test_arrays_of_a_model_that_make_no_sense_are_refused(decoder, name, damage):
    takes = takes_of(recurring(3)[0])
    decoded = decode(decoder, takes)
    arrays = dict(decoded.kinds)
    arrays[name] = damage(arrays[name]).astype(np.float32)
    model = build_model(
        takes.recordings, takes.settings, None, arrays, n_clusters=4, decoder=decoder
    )
    with pytest.raises(ModelError, match="do not fit together"):
        find_kinds_again(model, takes)


def test_a_model_remembers_how_its_kinds_of_steps_were_found():
    takes = takes_of(recurring(3)[0])
    decoded = decode("hmm", takes)
    for sentence, found in (("Steps recur.", True), ("Little structure found.", False), ("", None)):
        model = build_model(
            takes.recordings,
            takes.settings,
            None,
            decoded.kinds,
            n_clusters=4,
            decoder="hmm",
            how_found=sentence,
            found_structure=found,
        )
        decision = find_kinds_again(model, takes).decision
        if found is None:
            assert decision is None
        else:
            assert decision.sentence.endswith(f"In that run: {sentence}")
            assert decision.found_structure is (None if found else False)
