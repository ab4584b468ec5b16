from __future__ import annotations

import pytest

from stepreel.cues import CUES, make_cues
from stepreel.errors import PluginError


@pytest.mark.parametrize(("found_as", "name"), [("colour", "color"), ("previews", "previews")])
def test_a_cue_must_be_called_as_it_is_found_and_not_like_another_file_of_the_cache(
    monkeypatch, found_as, name
):
    cue = type("Cue", (), {"name": name})
    monkeypatch.setattr(CUES, "own", {**CUES.own, found_as: cue})
    with pytest.raises(PluginError, match=rf"the cue {found_as} calls itself '{name}'; expected"):
        make_cues(["motion", found_as])
