"""Extensions by name: the package's own dict first, then entry points of installed packages.

Each group of entry points has a version, and an extension declares the one it was written for in
its attribute `api_version`. An extension for another version, or one that cannot be imported, is
reported with the reason; all others keep working.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from stepreel.errors import PluginError

API_VERSIONS = {
    "stepreel.cues": 1,
    "stepreel.datasets": 1,
    "stepreel.methods": 1,
    "stepreel.exports": 1,
    "stepreel.decoders": 1,
    "stepreel.samplers": 1,
}
OWN = "stepreel"

T = TypeVar("T")


@dataclass(frozen=True)
class Origin:
    """The package an extension comes from, and why it cannot be used, if it cannot."""

    name: str
    package: str
    problem: str = ""


class Registry(Mapping[str, T], Generic[T]):
    """A mapping from names to extensions; entry points are imported on first use."""

    def __init__(self, group: str, own: Mapping[str, T], *, check: Callable[[object], str]) -> None:
        """Keep the package's own extensions.

        check  says why an object of a plug-in cannot be used; empty if it can
        """
        self.group = group
        self.own = own
        self._check = check
        self._loaded: dict[str, T] = {}
        self._problems: dict[str, str] = {}

    @cached_property
    def _plugins(self) -> dict[str, EntryPoint]:
        plugins: dict[str, EntryPoint] = {}
        for point in entry_points(group=self.group):
            if point.name in self.own or point.name in plugins:
                taken_by = OWN if point.name in self.own else _package(plugins[point.name])
                clash = f"{point.name} ({_package(point)})"
                self._problems[clash] = f"the name {point.name!r} is already used by {taken_by}"
            else:
                plugins[point.name] = point
        return plugins

    def __getitem__(self, name: str) -> T:
        if name in self.own:
            return self.own[name]
        if name not in self._plugins:
            raise KeyError(name)
        if name not in self._loaded and name not in self._problems:
            self._load(self._plugins[name])
        if name in self._problems:
            package = _package(self._plugins[name])
            raise PluginError(
                f"{name}, from the package {package}, cannot be used: {self._problems[name]}"
            )
        return self._loaded[name]

    def _load(self, point: EntryPoint) -> None:
        try:
            extension: T = point.load()
        except (Exception, SystemExit) as problem:  # importing a plug-in can raise anything
            self._problems[point.name] = f"{type(problem).__name__}: {problem}"
            return
        expected = API_VERSIONS[self.group]
        stated = getattr(extension, "api_version", None)
        if stated != expected:
            version = f"has api_version {stated}" if stated else "has no api_version"
            self._problems[point.name] = (
                f"it {version}; this stepreel expects api_version = {expected} for {self.group}"
            )
        elif unfit := self._check(extension):
            self._problems[point.name] = unfit
        else:
            self._loaded[point.name] = extension

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self._plugins

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from self._plugins

    def __len__(self) -> int:
        return len(self.own) + len(self._plugins)

    def package_of(self, name: str) -> str:
        """Return the package and version an extension comes from."""
        return OWN if name in self.own else _package(self._plugins[name])

    def module_of(self, name: str) -> str | None:
        """Return the module that a plug-in's entry point names; None for the package's own."""
        return None if name in self.own else self._plugins[name].module

    def usable(self) -> dict[str, T]:
        """Return all extensions that can be imported and have the right version."""
        usable = {}
        for name in self:
            try:
                usable[name] = self[name]
            except PluginError:
                continue
        return usable

    def origins(self) -> list[Origin]:
        """Return the origin of every extension, including broken ones and name clashes."""
        usable = self.usable()
        plugins = [
            Origin(name, _package(point), "" if name in usable else self._problems[name])
            for name, point in self._plugins.items()
        ]
        clashes = [
            Origin(name, "", problem)
            for name, problem in self._problems.items()
            if name not in self._plugins
        ]
        return [*(Origin(name, OWN) for name in self.own), *plugins, *clashes]


def must_be(expected: type) -> Callable[[object], str]:
    """Return a check that an extension is an object of a class.

    >>> must_be(int)("3"), must_be(int)(3)
    ('it is of type str; expected int', '')
    """

    def check(extension: object) -> str:
        if isinstance(extension, expected):
            return ""
        return f"it is of type {type(extension).__name__}; expected {expected.__name__}"

    return check


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value
