"""Arrays made from the tracks of a recording, which take long to make and can be kept with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Group = dict[str, NDArray[Any]]
"""Arrays that are made together."""

NamePart: TypeAlias = "str | int | float | tuple[NamePart, ...] | None"
Name = tuple[NamePart, ...]

Fits = Callable[[Group], bool]

ALONE = ""  # the name of an array that is made alone


def has_form(array: NDArray[Any] | None, dtype: str, *shape: int | None) -> bool:
    """Return whether an array has a type and shape, None being any length, and is finite.

    >>> has_form(np.zeros((3, 2)), "float64", 3, None), has_form(np.zeros(3), "float64", 4)
    (True, False)
    """
    if array is None or array.dtype.name != dtype or array.ndim != len(shape):
        return False
    lengths = zip(array.shape, shape, strict=True)
    fits = all(expected in (None, length) for length, expected in lengths)
    return fits and bool(np.isfinite(array).all())


def anything(arrays: Group) -> bool:
    """Accept all arrays."""
    return True


@dataclass(frozen=True, eq=False)
class Derived:
    """Arrays made from the tracks of a recording; each is made once, and can be kept with it.

    A name is a tuple that tells everything its arrays depend on besides the tracks: the first part
    says what they are, the others how they were made. Two names are the same only if all parts are.
    Several threads may ask at once; what two of them make at the same time is the same.

    prefix  begins all names: what is made from a part of the tracks has others
    """

    prefix: Name = ()
    _asked: dict[str, Group] = field(default_factory=dict, repr=False)
    _loaded: dict[str, Group] = field(default_factory=dict, repr=False)  # and not asked for yet

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Derived:
        """Return what `arrays` once returned; arrays with other names are left out."""
        derived = cls()
        for text, array in arrays.items():
            if (name := _parsed(text)) is not None:
                derived._loaded.setdefault(name[0], {})[name[1]] = array
        return derived

    def part(self, *name: NamePart) -> Derived:
        """Return where arrays made from a part of the tracks are kept."""
        return replace(self, prefix=(*self.prefix, *name))

    def get(
        self, name: Name, make: Callable[[], NDArray[Any]], fits: Fits = anything
    ) -> NDArray[Any]:
        """Return an array; make it if it is not there yet. `fits` finds it under ALONE."""
        return self.get_all(name, lambda: {ALONE: make()}, fits)[ALONE]

    def get_all(
        self, name: Name, make: Callable[[], Mapping[str, NDArray[Any]]], fits: Fits = anything
    ) -> Group:
        """Return arrays that are made together, by the names that `make` gives them.

        fits  whether arrays from a file can be what `make` makes; others are made again
        """
        group = json.dumps([self.prefix, name])
        if group not in self._asked:
            loaded = self._loaded.pop(group, None)
            found = loaded if loaded is not None and fits(loaded) else dict(make())
            self._asked.setdefault(group, found)
        return dict(self._asked[group])

    def arrays(self) -> Group:
        """Return what is worth keeping, by names that can be written to a file.

        That is what was asked for. Of what was loaded only what nobody asked for in any way: else
        every other window or seed would add to the file.
        """
        asked = dict(self._asked)
        kinds = {_kind(group) for group in asked}
        others = {group: x for group, x in dict(self._loaded).items() if _kind(group) not in kinds}
        return {
            json.dumps([*json.loads(group), key]): array
            for group, arrays in {**others, **asked}.items()
            for key, array in arrays.items()
        }


def _kind(group: str) -> str:
    """Return what the arrays of a group are: the first part of their name."""
    _, name = json.loads(group)
    return json.dumps(name[0])


def _parsed(text: str) -> tuple[str, str] | None:
    """Return the group and the name of an array in it; None if `arrays` never writes this."""
    try:
        prefix, name, key = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    is_name = isinstance(prefix, list) and isinstance(name, list) and isinstance(key, str)
    return (json.dumps([prefix, name]), key) if is_name and name else None
