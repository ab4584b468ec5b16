"""What the tests of documents need to know about Markdown."""

from __future__ import annotations

import re

PAGE_WIDTH = 110  # characters


def tables(text):
    """Return every table as rows of cells, without the line of dashes."""
    found, rows = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif rows:
            found.append([rows[0], *rows[2:]])
            rows = []
    return found


def visible_width(table):
    """Return how wide a table is on the page: marks of code, emphasis and links do not count."""
    plain = [[re.sub(r"\]\([^)]*\)|[`*\[\\]", "", cell) for cell in row] for row in table]
    return sum(max(map(len, column)) + 3 for column in zip(*plain, strict=True)) - 3


def code_lines(text):
    """Return the lines of indented and fenced blocks of code; continued lines are not joined."""
    lines, fenced = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            lines.append(line)
    return lines
