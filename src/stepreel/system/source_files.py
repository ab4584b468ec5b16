"""Find the files of modules, and what they import, without importing anything."""

from __future__ import annotations

import ast
import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

FEW_FILES = 100  # can be read and parsed in less than a second


@dataclass(frozen=True)
class Package:
    """A top-level package or module: its own file, and the folders with its modules."""

    file: Path | None
    folders: tuple[Path, ...]

    def file_of(self, module: str) -> Path | None:
        """Return the file of a module in the package; None if there is none, as in an archive."""
        _, *rest = module.split(".")
        if not rest:
            return self.file
        for folder in self.folders:
            base = folder.joinpath(*rest)
            files = [base.with_name(f"{base.name}{end}") for end in (".py", *EXTENSION_SUFFIXES)]
            for path in (files[0], base / "__init__.py", *files[1:]):
                if path.is_file():
                    return path
        return None

    @property
    def is_small(self) -> bool:
        """Whether it has at most 100 source files; more are not counted."""
        sources = (
            name
            for folder in self.folders
            for _, _, names in os.walk(folder)
            for name in names
            if name.endswith(".py")
        )
        return len(list(islice(sources, FEW_FILES + 1))) <= FEW_FILES


def find_package(top: str) -> Package | None:
    """Find a top-level package or module; None if it is not installed."""
    try:
        spec = find_spec(top)
    except (ImportError, ValueError, AttributeError):  # a module without a specification: a script
        file = getattr(sys.modules.get(top), "__file__", None)
        return None if file is None else Package(Path(file), ())
    if spec is None:
        return None
    folders = tuple(Path(folder) for folder in spec.submodule_search_locations or ())
    file = Path(spec.origin) if spec.origin is not None and spec.has_location else None
    return Package(file if file is not None and file.is_file() else None, folders)


def find_file(module: str) -> Path | None:
    """Return the file of a module; None if it has none, or is not installed."""
    package = find_package(module.partition(".")[0])
    return None if package is None else package.file_of(module)


def distributions_of(top: str) -> list[str]:
    """Return the installed distributions that provide a top-level package."""
    return sorted(set(_installed().get(top, ())))


@cache
def _installed() -> Mapping[str, list[str]]:
    return packages_distributions()


@cache
def is_followed(top: str) -> bool:
    """Return whether the source of another package counts, and not only its version.

    It counts if there is little of it, or if it changes without a new version: where the package
    is not in the folder into which its distribution is installed, as in development.
    """
    package = find_package(top)
    if package is None or top in sys.stdlib_module_names:
        return False
    if package.is_small:
        return True
    homes = set()
    for name in distributions_of(top):
        with contextlib.suppress(PackageNotFoundError):
            homes.add(Path(str(distribution(name).locate_file(""))))
    return not any(folder.parent in homes for folder in package.folders)


def imports_of(content: bytes, package: str) -> frozenset[str]:
    """Return all names that source code in a package imports: modules, and names in modules."""
    try:
        return frozenset(_imports(ast.parse(content), package))
    except (SyntaxError, ValueError, RecursionError):  # compiled, or no Python of this version
        return frozenset()


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield what the statements in a tree import, except for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
            start = ".".join(part for part in (base, node.module or "") if part)
            yield from (f"{start}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for other in node.orelse:
                yield from _imports(other, package)
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _imports(node, package)
