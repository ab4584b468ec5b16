"""All samplers by name: those of stepreel, and those that other packages add.

Another package adds a sampler with an entry point in the group `stepreel.samplers`.
"""

from __future__ import annotations

from stepreel.errors import SettingsError
from stepreel.steps.samplers.algorithm_1 import ALGORITHM_1
from stepreel.steps.samplers.base import Sampler
from stepreel.steps.samplers.ils import ILS
from stepreel.steps.samplers.nearest import NEAREST
from stepreel.system.registry import Registry, must_be
from stepreel.system.source_hashes import describe_code
from stepreel.validation import similar

SAMPLERS: Registry[Sampler] = Registry(
    "stepreel.samplers",
    {"algorithm-1": ALGORITHM_1, "nearest": NEAREST, "ils": ILS},
    check=must_be(Sampler),
)


def check_sampler(name: str) -> None:
    """Raise SettingsError unless a sampler is known; PluginError if it cannot be used."""
    if name not in SAMPLERS:
        raise SettingsError(
            f"unknown sampler {name!r} (--sample, key_steps.sample); known: {', '.join(SAMPLERS)}"
            f"{similar(name, list(SAMPLERS))}"
        )
    SAMPLERS[name]


def describe_sampler(name: str) -> dict[str, object]:
    """Name what the choice of a sampler depends on besides steps and settings."""
    if name not in SAMPLERS or name in SAMPLERS.own:
        return {}  # its code is part of what imports this module
    module = SAMPLERS.module_of(name) or ""
    return {"package": SAMPLERS.package_of(name), "code": describe_code(module)}
