"""Imports point one way along the line of data, between packages and inside evaluation."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import stepreel

SOURCE = Path(__file__).parents[1] / "src" / "stepreel"

# From the first stage to the last; a module may import from its own layer or an earlier one.
LAYERS = (
    ("version", "errors", "validation"),
    ("setting_values",),
    ("derived",),
    ("types", "config"),
    ("system",),
    ("video",),
    ("cues",),
    ("features",),
    ("learn",),
    ("steps",),
    ("task",),
    ("storyboard",),
    ("tuning",),
    ("report",),
    ("comparison",),
    ("result",),
    ("output",),
    ("pipeline",),
    ("choose_in_take", "tuned_model"),
    ("choose_again",),
    ("evaluation",),
    ("api", "api_tune", "plugins"),
    ("cli",),
)
EVALUATION_LAYERS = (
    ("truth",),
    ("datasets",),
    ("metrics",),
    ("methods",),
    ("figures",),
    ("storyboard_figures",),
    ("results",),
    ("plan", "prepare", "predictions"),
    ("compare",),
    ("storyboard_scores", "over_tasks"),
    ("build_storyboard",),
    ("build_results",),
    ("key_moments",),
    ("sweeps", "task_metrics"),
    ("extras",),
    ("report",),
    ("write_results",),
    ("run", "score_predictions"),
)
# Not stages: the published names, the command's entry, and deprecated paths.
OUTSIDE = {"__init__", "__main__", "datasets"}


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts
        found[".".join(name)] = path
    return found


def imported(path: Path) -> set[str]:
    """Return the modules of this package that a file imports, anywhere in it.

    A public name, as in `from stepreel import evaluate`, counts as the module it comes from.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func).rpartition(".")[2]
            is_public_names = path == SOURCE / "__init__.py"
            assert called not in ("import_module", "__import__") or is_public_names, path
    assert "stepreel" not in names, f"{path}: import stepreel; name the module instead"
    ours = {name.removeprefix("stepreel.") for name in names if name.startswith("stepreel.")}
    return {stepreel._HOME.get(name, name).removeprefix("stepreel.") for name in ours}


def imports() -> dict[str, set[str]]:
    known = modules()
    found: dict[str, set[str]] = {}
    for module, path in known.items():
        found[module] = set()
        for name in imported(path):
            while name and name not in known:
                name = name.rpartition(".")[0]
            if name and name != module:
                found[module].add(name)
    return found


def position(layers: tuple[tuple[str, ...], ...], name: str) -> int:
    places = [number for number, layer in enumerate(layers) if name in layer]
    assert places, f"{name} is in no layer: add it to tests/test_layers.py"
    return places[0]


def test_a_public_name_counts_as_the_module_it_comes_from(tmp_path):
    (tmp_path / "a.py").write_text("def f():\n    from stepreel import evaluate\n")
    assert imported(tmp_path / "a.py") == {"evaluation.run"}
    for hidden in ("import stepreel", "importlib.import_module('stepreel.cli.run')"):
        (tmp_path / "a.py").write_text(hidden)
        with pytest.raises(AssertionError):
            imported(tmp_path / "a.py")


def test_every_module_has_a_layer():
    for module in modules():
        top = module.split(".")[0]
        assert top in OUTSIDE or position(LAYERS, top) >= 0


def test_no_module_imports_a_later_stage():
    wrong = [
        f"{module} -> {other}"
        for module, others in imports().items()
        for other in others
        if module.split(".")[0] not in OUTSIDE and other.split(".")[0] not in OUTSIDE
        if position(LAYERS, module.split(".")[0]) < position(LAYERS, other.split(".")[0])
    ]
    assert wrong == []


def test_no_module_of_evaluation_imports_a_later_part_of_it():
    wrong = []
    for module, others in imports().items():
        for other in others:
            if not (module.startswith("evaluation.") and other.startswith("evaluation.")):
                continue
            here, there = module.split(".")[1], other.split(".")[1]
            if position(EVALUATION_LAYERS, here) < position(EVALUATION_LAYERS, there):
                wrong.append(f"{module} -> {other}")
    assert wrong == []


def test_no_modules_import_one_another_in_a_circle():
    """Packages' own __init__ files aside: importing a submodule imports them anyway."""
    graph = imports()
    state: dict[str, int] = defaultdict(int)
    circles: list[str] = []

    def visit(module: str, path: tuple[str, ...]) -> None:
        state[module] = 1
        for other in graph[module]:
            if state[other] == 1:
                circles.append(" -> ".join([*path[path.index(other) :], other]))
            elif state[other] == 0:
                visit(other, (*path, other))
        state[module] = 2

    for module in graph:
        if state[module] == 0:
            visit(module, (module,))
    assert circles == []


@pytest.mark.parametrize("package", ["evaluation", "cli"])
def test_the_method_itself_knows_nothing_of(package):
    early = {"system", "video", "cues", "features", "learn", "steps", "storyboard", "report"}
    for module, others in imports().items():
        if module.split(".")[0] in early:
            assert not any(other.split(".")[0] == package for other in others), module
