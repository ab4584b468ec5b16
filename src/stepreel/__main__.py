"""`python -m stepreel`, for when the command itself is not on the path."""

from __future__ import annotations

from stepreel.cli import main

main()
