"""ELAN's .eaf files: annotations in tiers, which refer to time slots in milliseconds."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from stepreel.errors import DatasetError
from stepreel.evaluation.truth.annotation import location
from stepreel.evaluation.truth.lines import SourceFile
from stepreel.evaluation.truth.rows import Row
from stepreel.types import readable

ANNOTATIONS = "ANNOTATION/ALIGNABLE_ANNOTATION"  # of a tier
TIER_NAMES = ("key steps", "steps")  # the first one that exists is read


def read_eaf(file: SourceFile, fps: float | None = None) -> list[Row]:
    """Read the steps of one tier.

    The tier is the one called "key steps", else "steps" (in any case, with "_" or "-" for blanks),
    else the first of those with the most annotations. Only annotations with their own times
    (ALIGNABLE_ANNOTATION) are read, not those that refer to other annotations. A slot without a
    time is placed evenly between its neighbours. If ELAN skips the beginning of the video
    (TIME_ORIGIN), that is added: times count from the beginning of the video file.
    """
    path = file.path
    document = _parse(file)
    unit = _attribute(document.find("HEADER"), "TIME_UNITS", "milliseconds")
    if unit != "milliseconds":
        raise DatasetError(f"{location(path)}: times are in {unit}; expected milliseconds")
    skipped = _skipped_seconds(path, document)
    slots = {name: seconds + skipped for name, seconds in _slots(path, document).items()}
    tier = _tier(path, document)
    return [_row(path, element, slots) for element in tier.iterfind(ANNOTATIONS)]


def _parse(file: SourceFile) -> Element:
    path, text = file.path, "\n".join(file.lines)
    if re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise DatasetError(
            f"{location(path)}: declares a DOCTYPE or ENTITY, which can make a parser read other "
            "files or fill the memory; ELAN never writes these, save the file again with ELAN"
        )
    try:
        document = ElementTree.fromstring(text)
    except ElementTree.ParseError as problem:
        line, _ = problem.position
        raise DatasetError(f"{location(path, line)}: is not XML ({problem})") from problem
    if document.tag != "ANNOTATION_DOCUMENT":
        raise DatasetError(
            f"{location(path)}: begins with <{document.tag}>; expected ELAN's <ANNOTATION_DOCUMENT>"
        )
    return document


def _skipped_seconds(path: Path, document: Element) -> float:
    """Return when ELAN's time 0 is in the video file.

    A media file has an offset (TIME_ORIGIN) if its beginning was cut off to match another one;
    time in the file is ELAN's time plus the offset. If there are several media files, the one
    named like the .eaf file is used, and videos rather than sound.
    """
    media = document.findall("HEADER/MEDIA_DESCRIPTOR")
    media = [medium for medium in media if path.stem in _stems(medium)] or media
    videos = [medium for medium in media if _attribute(medium, "MIME_TYPE").startswith("video")]
    origins = {_attribute(medium, "TIME_ORIGIN", "0").strip() for medium in videos or media}
    try:
        (skipped,) = {int(origin) / 1000 for origin in origins} or {0.0}
    except (ValueError, OverflowError):
        raise DatasetError(
            f"{location(path)}: TIME_ORIGIN of its media is {', '.join(sorted(origins))[:80]}; "
            "expected milliseconds, the same for all, or one media file called "
            f"{readable(path.stem)}"
        ) from None
    return skipped


def _stems(media: Element) -> list[str]:
    """Return the file names in the addresses of a media file, without suffix."""
    addresses = (_attribute(media, name) for name in ("MEDIA_URL", "RELATIVE_MEDIA_URL"))
    return [PurePosixPath(unquote(address)).stem for address in addresses]


def _slots(path: Path, document: Element) -> dict[str, float]:
    """Return the seconds of every time slot."""
    names: list[str] = []
    known: dict[int, float] = {}
    for number, slot in enumerate(document.iterfind("TIME_ORDER/TIME_SLOT")):
        names.append(_attribute(slot, "TIME_SLOT_ID"))
        value = slot.get("TIME_VALUE")
        try:
            if value is not None:
                known[number] = int(value) / 1000
        except (ValueError, OverflowError):
            raise DatasetError(
                f"{location(path)}: time slot {names[-1]} is {str(value)[:40]!r}; "
                "expected milliseconds"
            ) from None
    if not known:
        return {}
    seconds = np.interp(np.arange(len(names)), list(known), list(known.values()))
    return {names[i]: float(seconds[i]) for i in range(min(known), max(known) + 1)}


def _tier(path: Path, document: Element) -> Element:
    tiers = [  # ELAN puts no tier into another one
        tier for tier in document.iterfind("TIER") if tier.find(ANNOTATIONS) is not None
    ]
    if not tiers:
        refer = document.find(".//REF_ANNOTATION") is not None
        raise DatasetError(
            f"{location(path)}: contains no annotation with its own times"
            + ("; all refer to other annotations, which are missing" if refer else "")
        )
    for wanted in TIER_NAMES:
        for tier in tiers:
            name = re.sub(r"[\s_-]+", " ", _attribute(tier, "TIER_ID")).strip().casefold()
            if name in (wanted, wanted.replace(" ", "")):
                return tier
    return max(tiers, key=lambda tier: len(tier.findall(ANNOTATIONS)))


def _row(path: Path, element: Element, slots: dict[str, float]) -> Row:
    try:
        start = slots[element.attrib["TIME_SLOT_REF1"]]
        end = slots[element.attrib["TIME_SLOT_REF2"]]
    except KeyError as problem:
        name = _attribute(element, "ANNOTATION_ID", "without a name")
        raise DatasetError(
            f"{location(path)}: annotation {name}: time slot {problem} is missing, or has no "
            "time and no slot with a time before or after it; set its time in ELAN"
        ) from None
    return Row(start, end, " ".join((element.findtext("ANNOTATION_VALUE") or "").split()))


def _attribute(element: Element | None, name: str, default: str = "") -> str:
    return default if element is None else element.get(name, default)
