"""Label files with one label per video frame and line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from stepreel.errors import DatasetError
from stepreel.evaluation.truth.annotation import location
from stepreel.evaluation.truth.lines import SourceFile
from stepreel.evaluation.truth.rows import RawMomentLabels


def read_frame_text(file: SourceFile, fps: float | None = None) -> RawMomentLabels:
    """Read one label per line; frame 0 is at 0 s."""
    if fps is None:
        raise DatasetError(
            f"{location(file.path)}: one label per frame needs a frame rate; give --fps (fps=…)"
        )
    return label_frames(parse_frame_labels(file.path, file.lines), fps)


def parse_frame_labels(path: Path, lines: Sequence[str]) -> list[str]:
    """Return one label per line; DatasetError if one is empty or there is none."""
    labels = [line.strip() for line in lines]
    if not labels:
        raise DatasetError(f"{location(path)}: contains no label; expected one per frame and line")
    if "" in labels:
        raise DatasetError(
            f"{location(path, labels.index('') + 1)}: is empty; "
            "expected one label per frame and line"
        )
    return labels


def label_frames(labels: list[str], fps: float) -> RawMomentLabels:
    """Give frames their times; the last one ends with the video."""
    n = len(labels)
    return RawMomentLabels(labels, np.arange(n) / fps, end_seconds=n / fps, has_lines=True)
