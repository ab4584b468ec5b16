"""All decoders by name: those of stepreel, and those that other packages add.

Another package adds a decoder with an entry point in the group `stepreel.decoders`.
"""

from __future__ import annotations

from stepreel.errors import SettingsError
from stepreel.steps.decoders.auto import AUTO
from stepreel.steps.decoders.base import Decoder
from stepreel.steps.decoders.clock import CLOCK
from stepreel.steps.decoders.hmm import HMM
from stepreel.steps.decoders.kmeans import KMEANS
from stepreel.system.registry import Registry, must_be
from stepreel.validation import similar

DECODERS: Registry[Decoder] = Registry(
    "stepreel.decoders",
    {"kmeans": KMEANS, "hmm": HMM, "clock": CLOCK, "auto": AUTO},
    check=must_be(Decoder),
)


def check_decoder(name: str) -> None:
    """Raise SettingsError unless a decoder is known; PluginError if it cannot be used."""
    if name not in DECODERS:
        raise SettingsError(
            f"unknown decoder {name!r}; known: {', '.join(DECODERS)}{similar(name, list(DECODERS))}"
        )
    DECODERS[name]
