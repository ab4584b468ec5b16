"""Turn a storyboard into what people look at: a page, an index of several, and exports."""

from __future__ import annotations

from stepreel.report.exports import EXPORTS, Export
from stepreel.report.index import write_index
from stepreel.report.page import render_page
from stepreel.report.pictures import read_pictures
from stepreel.report.video import read_embedded_video
from stepreel.report.write import write_report

__all__ = [
    "EXPORTS",
    "Export",
    "read_embedded_video",
    "read_pictures",
    "render_page",
    "write_index",
    "write_report",
]
