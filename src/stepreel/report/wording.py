"""Write times, lengths and titles the way a reader expects them."""

from __future__ import annotations

import unicodedata

from stepreel.storyboard.schema import Span

SHORT_SECONDS = 9.95  # what is shorter is written with tenths of a second


def clock(seconds: float) -> str:
    """Write a moment as m:ss, or h:mm:ss past an hour; parts of a second are dropped.

    >>> clock(7.9), clock(754), clock(3723)
    ('0:07', '12:34', '1:02:03')
    """
    # Half a millisecond keeps a 12.0 that arrives as 11.9999… from showing as 0:11.
    minutes, second = divmod(int(seconds + 0.0005), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def clock_with_tenths(seconds: float) -> str:
    """Write a moment as m:ss.t, or h:mm:ss.t past an hour.

    >>> clock_with_tenths(75.25), clock_with_tenths(3675), clock_with_tenths(32.3)
    ('1:15.2', '1:01:15.0', '0:32.3')
    """
    tenths = int(seconds * 10 + 0.005)  # 32.3 * 10 is 322.9999…
    hours, rest = divmod(tenths, 36000)
    minutes, rest = divmod(rest, 600)
    tail = f"{rest // 10:02d}.{rest % 10}"
    return f"{hours}:{minutes:02d}:{tail}" if hours else f"{minutes}:{tail}"


def clock_in(seconds: float, span: Span) -> str:
    """Write a moment of a span: with tenths if it is short, as its length is written.

    >>> clock_in(3.2, Span(start=3.2, end=3.9)), clock_in(3.2, Span(start=3.2, end=23))
    ('0:03.2', '0:03')
    """
    return clock_with_tenths(seconds) if span.seconds < SHORT_SECONDS else clock(seconds)


def extent(span: Span) -> str:
    """Write where a span starts and ends.

    >>> extent(Span(start=3.2, end=3.9)), extent(Span(start=3.2, end=23))
    ('0:03.2 – 0:03.9', '0:03 – 0:23')
    """
    return f"{clock_in(span.start, span)} – {clock_in(span.end, span)}"


def exact_clock(milliseconds: int) -> str:
    """Write a moment as hh:mm:ss.mmm, as WebVTT wants it.

    >>> exact_clock(3723045)
    '01:02:03.045'
    """
    seconds, millisecond = divmod(milliseconds, 1000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours:02}:{minute:02}:{second:02}.{millisecond:03}"


def length(seconds: float) -> str:
    """Write how long something lasts, as exactly as is useful.

    >>> length(4.23), length(42.4), length(125), length(3725)
    ('4.2 s', '42 s', '2 min 05 s', '1 h 02 min')
    """
    if seconds < SHORT_SECONDS:
        return f"{seconds:.1f} s"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minute:02} min"
    return f"{minute} min {second:02} s" if minute else f"{second} s"


def one_line(title: str, *, otherwise: str = "") -> str:
    r"""Put a title on one line without control characters; an empty one becomes `otherwise`.

    >>> one_line("Fold\n the\x00 flap "), one_line(" ", otherwise="Step 3")
    ('Fold the flap', 'Step 3')
    """
    visible = "".join(" " if _is_control(character) else character for character in title)
    return " ".join(visible.split()) or otherwise


def _is_control(character: str) -> bool:
    # Cs: halves of a surrogate pair cannot be written as UTF-8.
    return unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}
