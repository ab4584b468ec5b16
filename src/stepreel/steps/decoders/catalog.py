"""All decoders by name: those of stepreel, and those that other packages add.

Another package adds a decoder with an entry point in the group `stepreel.decoders`.
"""

from __future__ import annotations

from collections.abc import Iterable

from stepreel.config import KeyStepSettings
from stepreel.errors import SettingsError
from stepreel.steps.decoders.auto import AUTO
from stepreel.steps.decoders.base import Decoder
from stepreel.steps.decoders.changes import CHANGES
from stepreel.steps.decoders.clock import CLOCK
from stepreel.steps.decoders.finch import FINCH
from stepreel.steps.decoders.hmm import HMM
from stepreel.steps.decoders.kmeans import KMEANS
from stepreel.steps.decoders.procut import PROCUT
from stepreel.steps.decoders.refined import REFINED
from stepreel.steps.decoders.tw_finch import TW_FINCH
from stepreel.steps.decoders.ward import WARD
from stepreel.system.registry import Registry, must_be
from stepreel.system.source_hashes import describe_code
from stepreel.validation import similar

DECODERS: Registry[Decoder] = Registry(
    "stepreel.decoders",
    {
        "kmeans": KMEANS,
        "hmm": HMM,
        "clock": CLOCK,
        "changes": CHANGES,
        "auto": AUTO,
        "refined": REFINED,
        "finch": FINCH,
        "tw-finch": TW_FINCH,
        "ward": WARD,
        "procut": PROCUT,
    },
    check=must_be(Decoder),
)

TRAINING = ("loss", "encoder", "train")  # groups of settings
CHANGES_FOR_ONE = ("auto", "refined")  # decoders that are `changes` for one recording
ALSO_WITHOUT_TRAINING = ("loss.window_seconds", "train.seed")


def check_decoder(name: str) -> None:
    """Raise SettingsError unless a decoder is known; PluginError if it cannot be used."""
    if name not in DECODERS:
        raise SettingsError(
            f"unknown decoder {name!r}; known: {', '.join(DECODERS)}{similar(name, list(DECODERS))}"
        )
    DECODERS[name]


def check_trains(name: str) -> None:
    """Raise SettingsError unless a decoder uses what `stepreel train` trains."""
    check_decoder(name)
    if not DECODERS[name].needs_embedding:
        raise SettingsError(
            f"the decoder {name} needs no training; `stepreel run --decoder {name}` makes its model"
        )


def settings_without_effect(names: Iterable[str], decoder: str) -> list[str]:
    """Return those of some settings that are about training only, if a decoder trains nothing.

    Of decoders of other packages it is not known what they look at.

    >>> settings_without_effect(["train.epochs", "train.seed", "encoder.width"], "auto")
    ['train.epochs', 'encoder.width']
    >>> settings_without_effect(["train.epochs"], "kmeans")
    []
    """
    if decoder not in DECODERS.own or DECODERS[decoder].needs_embedding:
        return []
    return [
        name
        for name in names
        if name.partition(".")[0] in TRAINING and name not in ALSO_WITHOUT_TRAINING
    ]


def describe_decoder(name: str) -> dict[str, object]:
    """Name what the labels of a decoder depend on besides takes and settings."""
    if name not in DECODERS or name in DECODERS.own:
        return {}  # its code is part of what imports this module
    module = DECODERS.module_of(name) or ""
    return {"package": DECODERS.package_of(name), "code": describe_code(module)}


def check_number_of_steps(
    settings: KeyStepSettings, n_recordings: int, *, of_model: bool = False
) -> None:
    """Raise SettingsError if a number of steps is asked of a decoder that cannot choose it.

    of_model  whether the decoder is that of a model, and cannot be another
    """
    if settings.n_steps is None or settings.decoder not in DECODERS.own:
        return
    if settings.n_clusters == 1 and settings.n_steps not in (1, (1, 1)):
        raise SettingsError(
            "--clusters 1 (key_steps.n_clusters) makes one step of everything; for more --steps, "
            "allow at least 2 kinds, or let their number be found (--clusters auto)"
        )
    if of_model and settings.decoder != "changes":
        raise SettingsError(
            f"--steps (key_steps.n_steps) does not go with this model, whose decoder is "
            f"{settings.decoder}; leave --steps out, or run without --model"
        )
    if settings.decoder in CHANGES_FOR_ONE and n_recordings > 1:
        raise SettingsError(
            "--steps (key_steps.n_steps) is for one recording; of several, the number of kinds can "
            "be chosen (--clusters), or each be cut by itself (--decoder changes)"
        )
    if settings.decoder not in (*CHANGES_FOR_ONE, "changes"):
        raise SettingsError(
            f"--steps (key_steps.n_steps) does not go with the decoder {settings.decoder}; use "
            "--decoder changes, or --clusters for the number of kinds; --steps auto drops it"
        )
