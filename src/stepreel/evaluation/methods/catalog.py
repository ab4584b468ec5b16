"""All methods by name: those of stepreel, and those that other packages add.

Another package adds a method with an entry point in the group `stepreel.methods`.
"""

from __future__ import annotations

from collections.abc import Iterable

from stepreel.errors import PluginError
from stepreel.evaluation.methods.base import Method, MethodKind
from stepreel.evaluation.methods.baselines import BLIND_METHODS
from stepreel.evaluation.methods.clustered import CLUSTERED_METHODS
from stepreel.evaluation.methods.learned import LEARNED_METHODS
from stepreel.system.registry import Registry

METHODS: Registry[Method] = Registry(
    "stepreel.methods", {**BLIND_METHODS, **CLUSTERED_METHODS, **LEARNED_METHODS}
)
NULL_METHODS = (*BLIND_METHODS, *CLUSTERED_METHODS)  # stepreel's own


def method_kind(name: str) -> MethodKind:
    """Return a method's kind; "other" for one that is unknown or cannot be imported."""
    try:
        return METHODS[name].kind
    except (KeyError, PluginError):
        return "other"


def of_kind(names: Iterable[str], *kinds: MethodKind) -> tuple[str, ...]:
    """Return those of `names` whose methods are of one of these kinds.

    >>> of_kind(["equal-split", "raw-kmeans", "paper"], "blind", "clustered")
    ('equal-split', 'raw-kmeans')
    """
    return tuple(name for name in names if method_kind(name) in kinds)


def plugin_package(name: str) -> str | None:
    """Return the package and version a method comes from; None for stepreel's own."""
    if name in METHODS.own:
        return None
    return next((o.package for o in METHODS.origins() if o.name == name), None)
