"""All methods by name: those of stepreel, and those that other packages add.

Another package adds a method with an entry point in the group `stepreel.methods`.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable
from typing import get_args

from stepreel.errors import PluginError
from stepreel.evaluation.methods.base import Method, MethodKind
from stepreel.evaluation.methods.baselines import BLIND_METHODS
from stepreel.evaluation.methods.clustered import CLUSTERED_METHODS
from stepreel.evaluation.methods.learned import LEARNED_METHODS
from stepreel.system.registry import Registry


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


def describe_plugin(name: str) -> dict[str, object]:
    """Name what the labels of a method of another package depend on; empty for stepreel's own.

    The source of its module is part of it: whoever writes a method changes it more often than the
    package's version.
    """
    if name in METHODS.own:
        return {}
    return {
        "plugin": METHODS.package_of(name),
        "name": name,
        "source": _source_hash(METHODS[name]),
    }


def _source_hash(method: Method) -> str:
    module = inspect.getmodule(method.predict)
    try:
        source = inspect.getsource(module) if module is not None else repr(method.predict)
    except OSError:  # no source, as in a compiled extension
        source = repr(method.predict)
    return hashlib.blake2b(source.encode(), digest_size=16).hexdigest()
