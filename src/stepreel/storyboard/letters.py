"""The letter of a kind of step, the same in every list, page and export."""

from __future__ import annotations


def letter(cluster: int) -> str:
    """Name a cluster like a spreadsheet column.

    >>> letter(0), letter(25), letter(26), letter(701), letter(702)
    ('A', 'Z', 'AA', 'ZZ', 'AAA')
    """
    name = ""
    rest = cluster + 1
    while rest:
        rest, place = divmod(rest - 1, 26)
        name = chr(ord("A") + place) + name
    return name
