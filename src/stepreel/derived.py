"""Arrays made from the tracks of a recording, which take long to make and can be kept with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from numpy.typing import NDArray

Group = dict[str, NDArray[Any]]
"""Arrays that are made together."""

NamePart: TypeAlias = "str | int | float | tuple[NamePart, ...] | None"
Name = tuple[NamePart, ...]

ALONE = ""  # the name of an array that is made alone


@dataclass(frozen=True, eq=False)
class Derived:
    """Arrays made from the tracks of a recording; each is made once, and can be kept with it.

    A name is a tuple that tells everything its arrays depend on besides the tracks: the first part
    says what they are, the others how they were made. Two names are the same only if all parts are.
    Several threads may ask at once; what two of them make at the same time is the same.

    prefix  begins all names: what is made from a part of the tracks has others
    """

    prefix: Name = ()
    _groups: dict[str, Group] = field(default_factory=dict, repr=False)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Derived:
        """Return what `arrays` once returned; arrays with other names are left out."""
        derived = cls()
        for text, array in arrays.items():
            if (name := _parsed(text)) is not None:
                derived._groups.setdefault(name[0], {})[name[1]] = array
        return derived

    def part(self, *name: NamePart) -> Derived:
        """Return where arrays made from a part of the tracks are kept."""
        return replace(self, prefix=(*self.prefix, *name))

    def get(self, name: Name, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return an array; make it if it is not there yet."""
        return self.get_all(name, lambda: {ALONE: make()})[ALONE]

    def get_all(self, name: Name, make: Callable[[], Mapping[str, NDArray[Any]]]) -> Group:
        """Return arrays that are made together, by the names that `make` gives them."""
        group = json.dumps([self.prefix, name])
        if group not in self._groups:
            made = dict(make())
            self._groups.setdefault(group, made)
        return dict(self._groups[group])

    def arrays(self) -> Group:
        """Return all arrays by names that can be written to a file."""
        return {
            json.dumps([*json.loads(group), key]): array
            for group, arrays in list(self._groups.items())
            for key, array in arrays.items()
        }


def _parsed(text: str) -> tuple[str, str] | None:
    """Return the group and the name of an array in it; None if `arrays` never writes this."""
    try:
        prefix, name, key = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    is_name = isinstance(prefix, list) and isinstance(name, list) and isinstance(key, str)
    return (json.dumps([prefix, name]), key) if is_name and name else None
