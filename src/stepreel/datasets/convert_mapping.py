"""Deprecated path of `stepreel.evaluation.datasets.convert_mapping`; it will go in version 0.3."""

from __future__ import annotations

import sys
import warnings

from stepreel.evaluation.datasets.convert_mapping import convert, main

__all__ = ["convert", "main"]

MOVED = (
    "stepreel.datasets.convert_mapping has moved; "
    "use python -m stepreel.evaluation.datasets.convert_mapping"
)

if __name__ == "__main__":
    print(f"note: {MOVED}", file=sys.stderr)
    sys.exit(main())

warnings.warn(MOVED, DeprecationWarning, stacklevel=2)
