"""Documents name files, functions, settings, commands and options that exist, and fit on a page."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from pathlib import Path

import pytest
import typer
from markdown import PAGE_WIDTH, code_lines, tables, visible_width

from stepreel.cli.app import app
from stepreel.config import Settings

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "stepreel"
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("**/*.md")])
FOLDERS = {"src", "docs", "tests", "benchmarks", *(p.name for p in PACKAGE.iterdir() if p.is_dir())}
CODE = re.compile(r"`([^`\n]+)`")
PYTHON_FILE = re.compile(r"(?<![\w./-])[\w./-]+\.py\b")
OURS = re.compile(r"(?<![\w./-])stepreel(?:\.\w+)+")
SETTING = re.compile(rf"(?<![\w./-])({'|'.join(Settings.model_fields)})\.(\w+)(?![\w/])")
NOT_SETTINGS = {"py", "png"}  # loss.py, loss.png

each_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT))
)


def code_of(document):
    """Return everything that is marked as code, inline or as a block."""
    text = document.read_text(encoding="utf-8")
    return CODE.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL)) + code_lines(text)


def commands_of(document):
    """Return every `stepreel …` command line as words, continued lines joined."""
    block = re.sub(r"\\\n\s*", "", "\n".join(code_lines(document.read_text(encoding="utf-8"))))
    inline = CODE.findall(document.read_text(encoding="utf-8"))
    for line in [*block.splitlines(), *inline]:
        match = re.match(r"\s*(?:\.venv/bin/)?stepreel +([a-z-].*)", line)
        if match:
            yield shlex.split(match[1], comments=True)


@each_document
def test_folders_and_modules_exist(document):
    for path in CODE.findall(document.read_text(encoding="utf-8")):
        if re.fullmatch(r"[\w.-]+(/[\w.-]*)+", path) and path.split("/")[0] in FOLDERS:
            places = [ROOT / path, PACKAGE / path, PACKAGE / f"{path}.py"]
            assert any(place.exists() for place in places), path


@each_document
def test_python_files_exist(document):
    named = {name for code in code_of(document) for name in PYTHON_FILE.findall(code)}
    named = {name for name in named if not name.startswith("my_package/")}
    assert not [n for n in named if not (ROOT / n).is_file() and not (PACKAGE / n).is_file()]


@pytest.mark.parametrize("name", ["README", "CONTRIBUTING", "method", "data", "evaluation"])
def test_modules_and_public_names_exist(name):
    document = next(path for path in DOCUMENTS if path.stem == name)
    for name in {name for code in code_of(document) for name in OURS.findall(code)}:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            module, _, attribute = name.rpartition(".")
            assert hasattr(importlib.import_module(module), attribute), name


def test_the_method_names_functions_of_the_files_it_names():
    rows = [
        row
        for table in tables((ROOT / "docs" / "method.md").read_text(encoding="utf-8"))
        if table[0] == ["paper", "here", "file"]
        for row in table[1:]
    ]
    assert len(rows) > 10
    for _, names, file in rows:
        module = ".".join(Path(CODE.findall(file)[0]).with_suffix("").parts)
        for name in CODE.findall(names):
            thing = importlib.import_module(f"stepreel.{module}")
            for part in name.split("."):
                fields = getattr(thing, "__annotations__", {})
                assert hasattr(thing, part) or part in fields, f"{name} is not in {file}"
                thing = getattr(thing, part, None)


@each_document
def test_settings_exist(document):
    for code in code_of(document):
        for section, name in SETTING.findall(code):
            known = Settings.model_fields[section].annotation.model_fields
            assert name in known or name in NOT_SETTINGS, f"{section}.{name}"


@each_document
def test_commands_and_their_options_exist(document):
    commands = typer.main.get_command(app).commands
    for words in commands_of(document):
        if words[0].startswith("-"):
            continue
        assert words[0] in commands, f"stepreel {' '.join(words)}"
        known = {option for p in commands[words[0]].params for option in p.opts} | {"--help", "-h"}
        options = {word.split("=")[0] for word in words[1:] if re.match(r"--?[a-z]", word)}
        assert not options - known, f"stepreel {' '.join(words)}"


def test_all_documents_together_show_every_command():
    shown = {words[0] for document in DOCUMENTS for words in commands_of(document)}
    assert {"run", "train", "embed", "evaluate", "score", "info", "schema"} <= shown


@each_document
def test_examples_in_python_can_be_parsed(document):
    for block in re.findall(r"```python\n(.*?)```", document.read_text("utf-8"), re.DOTALL):
        ast.parse(block)


@each_document
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
        assert target.startswith("http") or (document.parent / target).exists(), target


@each_document
def test_no_table_is_wider_than_a_page(document):
    wide = [t[0] for t in tables(document.read_text("utf-8")) if visible_width(t) > PAGE_WIDTH]
    assert not wide


@each_document
def test_lines_of_text_and_code_are_not_much_wider(document):
    lines = document.read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if len(line) > PAGE_WIDTH + 10 and line[0] != "|"]
