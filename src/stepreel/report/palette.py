"""Give every kind of step a colour and a letter, the same in every recording."""

from __future__ import annotations

import colorsys
from collections.abc import Iterable
from dataclasses import dataclass

from stepreel.storyboard.letters import letter
from stepreel.storyboard.schema import Storyboard

# Any two are at least 16 CIELAB units apart, in normal sight and with simulated protanopia,
# deuteranopia and tritanopia (Machado et al. 2009); test_page.py checks it.
COLOURS = (
    "#3f74b8",
    "#f0903f",
    "#2fd0bb",
    "#ad1750",
    "#bcd47f",
    "#cfa8f2",
    "#4a6712",
    "#b8668f",
    "#8f82ee",
    "#cb5f4b",
    "#55a679",
    "#8f2a86",
)
_GOLDEN_ANGLE_TURNS = 0.381966


@dataclass(frozen=True)
class Kind:
    """How one cluster is shown: `ink` is the colour of text on top of `colour`."""

    cluster: int
    letter: str
    colour: str
    ink: str


def kind_of(cluster: int) -> Kind:
    """Return how `cluster` is shown.

    >>> kind_of(1)
    Kind(cluster=1, letter='B', colour='#f0903f', ink='#14171c')
    """
    colour = COLOURS[cluster] if cluster < len(COLOURS) else _generated_colour(cluster)
    return Kind(cluster, letter(cluster), colour, _ink_on(colour))


def kinds_used(boards: Iterable[Storyboard]) -> list[Kind]:
    """Return every kind that the steps or timelines of `boards` show, in order."""
    clusters: set[int] = set()
    for board in boards:
        clusters |= {step.cluster for step in board.steps}
        clusters |= {span.cluster for span in board.timeline if span.cluster is not None}
    return [kind_of(cluster) for cluster in sorted(clusters)]


def _generated_colour(cluster: int) -> str:
    """Walk the hue circle in golden angles, so that consecutive clusters get distant hues."""
    lightness = (0.42, 0.56, 0.68)[cluster % 3]
    rgb = colorsys.hls_to_rgb(cluster * _GOLDEN_ANGLE_TURNS % 1, lightness, 0.5)
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgb)


def _ink_on(colour: str) -> str:
    luminance = relative_luminance(colour)
    white_contrast = 1.05 / (luminance + 0.05)
    return "#ffffff" if white_contrast >= 4 else "#14171c"


def relative_luminance(colour: str) -> float:
    """Return WCAG's relative luminance, 0 for black and 1 for white."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
