"""The files made from a storyboard, by name; a new export is one file here and one line below.

Other packages add exports through the entry point group "stepreel.exports".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stepreel.report.exports.csv_table import to_csv
from stepreel.report.exports.ffmetadata import to_ffmetadata
from stepreel.report.exports.markdown import to_markdown
from stepreel.report.exports.webvtt import to_webvtt
from stepreel.report.exports.youtube import to_youtube
from stepreel.storyboard.schema import Storyboard
from stepreel.system.registry import Registry, must_be

__all__ = ["EXPORTS", "Export"]


@dataclass(frozen=True)
class Export:
    """One kind of export.

    file         the name of the file it is written to, beside storyboard.json
    make         returns the file's content: text, which is written as UTF-8, or bytes
    api_version  which version of this contract a plug-in was written for: 1
    """

    file: str
    make: Callable[[Storyboard], str | bytes]
    api_version: int = 0


EXPORTS: Registry[Export] = Registry(
    "stepreel.exports",
    {
        "csv": Export("steps.csv", to_csv),
        "markdown": Export("steps.md", to_markdown),
        "webvtt": Export("chapters.vtt", to_webvtt),
        "youtube": Export("chapters-youtube.txt", to_youtube),
        "ffmetadata": Export("chapters.ffmeta", to_ffmetadata),
    },
    check=must_be(Export),
)
