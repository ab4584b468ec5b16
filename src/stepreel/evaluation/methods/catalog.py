"""All methods by name: those of stepreel, and those that other packages add.

Another package adds a method with an entry point in the group `stepreel.methods`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from stepreel.errors import PluginError
from stepreel.evaluation.methods.base import Method, MethodKind
from stepreel.evaluation.methods.baselines import BLIND_METHODS
from stepreel.evaluation.methods.clustered import CLUSTERED_METHODS
from stepreel.evaluation.methods.learned import LEARNED_METHODS
from stepreel.system.registry import Registry
from stepreel.system.source_hashes import describe_code


def _check(extension: object) -> str:
    """Say why an object of a plug-in is not a method that can be run."""
    if not isinstance(extension, Method):
        return f"it is of type {type(extension).__name__}; expected Method"
    if extension.kind not in get_args(MethodKind):
        return f"its kind is {extension.kind!r}; expected one of {', '.join(get_args(MethodKind))}"
    return ""


METHODS: Registry[Method] = Registry(
    "stepreel.methods",
    {**BLIND_METHODS, **CLUSTERED_METHODS, **LEARNED_METHODS},
    check=_check,
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


def describe_method(name: str) -> dict[str, object]:
    """Name what the labels of a method depend on besides recordings and settings.

    Its code is part of it: whoever writes a method changes it more often than a version.
    """
    predict = METHODS[name].predict
    defined_in = getattr(predict, "__module__", None) or type(predict).__module__
    modules = {defined_in, METHODS.module_of(name) or defined_in}
    return {
        "package": METHODS.package_of(name),
        "name": name,
        "code": describe_code(*sorted(modules)),
    }
