"""Names of step pictures, which contain the time they show."""

from __future__ import annotations

import re

_NAME = re.compile(r"pictures/step-\d{1,6}-at-(\d{1,9}\.\d{2})s\.jpg")


def picture_file(index: int, time: float) -> str:
    """Return the file name of a step's picture.

    With the time in it, an interrupted run into the same folder cannot replace pictures of an
    earlier storyboard, and a picture of another moment is recognised.

    >>> picture_file(3, 12.5)
    'pictures/step-03-at-12.50s.jpg'
    """
    return f"pictures/step-{index:02d}-at-{time:.2f}s.jpg"


def small_picture_file(time: float) -> str:
    """Return the file name of the small picture of a moment that only an alternative shows.

    >>> small_picture_file(12.5)
    'pictures/small-at-12.50s.jpg'
    """
    return f"pictures/small-at-{time:.2f}s.jpg"


def shows_another_moment(file: str, time: float) -> bool:
    """Tell whether a picture was taken at another time than `time`; unknown for other names.

    >>> shows_another_moment("pictures/step-03-at-12.50s.jpg", 14.0)
    True
    >>> shows_another_moment("pictures/step-03-at-12.50s.jpg", 12.5)
    False
    >>> shows_another_moment("pictures/mine.jpg", 14.0)
    False
    """
    match = _NAME.fullmatch(file)
    return match is not None and abs(float(match[1]) - time) > 0.006
