"""ELAN's .eaf files: annotations in tiers, whose times are slots in milliseconds."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from stepreel.errors import DatasetError
from stepreel.evaluation.truth.annotation import Row, place
from stepreel.evaluation.truth.lines import read_lines
from stepreel.types import readable

TIER_NAMES = ("key steps", "steps")  # the first of these that is there


def read_eaf(path: Path, fps: float | None = None) -> list[Row]:
    """Read the steps of one tier.

    The tier is the one called "key steps", else "steps" (in any case, "_" or "-" for blanks), else
    that with the most annotations, else the first of those. Only annotations with times of their
    own (ALIGNABLE_ANNOTATION) count: those that refer to others say more about these, not when.
    A slot without a time lies evenly between its neighbours that have one. Where ELAN was told to
    skip the beginning of the video (TIME_ORIGIN), times still count from the video's own.
    """
    document = _parse(path)
    unit = _attribute(document.find("HEADER"), "TIME_UNITS", "milliseconds")
    if unit != "milliseconds":
        raise DatasetError(f"{place(path)}: times are in {unit}; expected milliseconds")
    skipped = _skipped_seconds(path, document)
    slots = {name: seconds + skipped for name, seconds in _slots(path, document).items()}
    tier = _tier(path, document)
    return [_row(path, one, slots) for one in tier.iter("ALIGNABLE_ANNOTATION")]


def _parse(path: Path) -> Element:
    text = "\n".join(read_lines(path))
    if re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise DatasetError(
            f"{place(path)}: declares a DOCTYPE or ENTITY, which can make a reader read other "
            "files or fill the memory; ELAN writes none, save it again with ELAN"
        )
    try:
        document = ElementTree.fromstring(text)
    except ElementTree.ParseError as problem:
        line, _ = problem.position
        raise DatasetError(f"{place(path, line)}: is no XML ({problem})") from problem
    if document.tag != "ANNOTATION_DOCUMENT":
        raise DatasetError(
            f"{place(path)}: begins with <{document.tag}>; expected ELAN's <ANNOTATION_DOCUMENT>"
        )
    return document


def _skipped_seconds(path: Path, document: Element) -> float:
    """Return when, in the video, ELAN's time 0 is.

    A media file has an offset (TIME_ORIGIN) if its beginning was cut off to match another one;
    time in the file is ELAN's time plus that. Of several files, the one that is named like the
    .eaf counts, and videos before sound.
    """
    media = document.findall("HEADER/MEDIA_DESCRIPTOR")
    media = [one for one in media if path.stem in _stems(one)] or media
    media = [one for one in media if _attribute(one, "MIME_TYPE").startswith("video")] or media
    origins = {_attribute(one, "TIME_ORIGIN", "0").strip() for one in media}
    try:
        (skipped,) = {int(origin) / 1000 for origin in origins} or {0.0}
    except (ValueError, OverflowError):
        raise DatasetError(
            f"{place(path)}: TIME_ORIGIN of its media is {', '.join(sorted(origins))[:80]}; "
            "expected milliseconds, and the same of all, or one media file called "
            f"{readable(path.stem)}"
        ) from None
    return skipped


def _stems(media: Element) -> list[str]:
    """Return the names that the addresses of a media file end in, without ending."""
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
                f"{place(path)}: time slot {names[-1]} is {str(value)[:40]!r}; "
                "expected milliseconds"
            ) from None
    if not known:
        return {}
    seconds = np.interp(np.arange(len(names)), list(known), list(known.values()))
    return {names[i]: float(seconds[i]) for i in range(min(known), max(known) + 1)}


def _tier(path: Path, document: Element) -> Element:
    tiers = [
        tier for tier in document.iter("TIER") if tier.find(".//ALIGNABLE_ANNOTATION") is not None
    ]
    if not tiers:
        depend = document.find(".//REF_ANNOTATION") is not None
        raise DatasetError(
            f"{place(path)}: holds no annotation with times of its own"
            + ("; those in it refer to others that are missing" if depend else "")
        )
    for wanted in TIER_NAMES:
        for tier in tiers:
            name = re.sub(r"[\s_-]+", " ", _attribute(tier, "TIER_ID")).strip().casefold()
            if name in (wanted, wanted.replace(" ", "")):
                return tier
    return max(tiers, key=lambda tier: len(tier.findall(".//ALIGNABLE_ANNOTATION")))


def _row(path: Path, one: Element, slots: dict[str, float]) -> Row:
    try:
        start, end = slots[one.attrib["TIME_SLOT_REF1"]], slots[one.attrib["TIME_SLOT_REF2"]]
    except KeyError as problem:
        name = _attribute(one, "ANNOTATION_ID", "without a name")
        raise DatasetError(
            f"{place(path)}: annotation {name}: time slot {problem} is missing, or has no time and "
            "none after or before it; give it one in ELAN"
        ) from None
    return Row(start, end, " ".join((one.findtext("ANNOTATION_VALUE") or "").split()))


def _attribute(element: Element | None, name: str, otherwise: str = "") -> str:
    return otherwise if element is None else element.get(name, otherwise)
