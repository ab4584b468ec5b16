"""Make compare.html: one file with its pictures, style and scripts inside."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepreel.comparison.graph import lay_out_graph
from stepreel.comparison.lanes import bar_words, lay_out_lanes
from stepreel.comparison.matrix import lay_out_matrix
from stepreel.comparison.pictures import embedded_pictures
from stepreel.comparison.players import Playable, playable_of
from stepreel.comparison.schema import ComparedTake, Comparison, Departure, UnusualPace
from stepreel.comparison.sentences import Words
from stepreel.comparison.spreads import lay_out_spreads
from stepreel.comparison.takes import Take, Takes
from stepreel.report.html import (
    content_policy,
    environment,
    inlined_script,
    inlined_style,
    script_safe_json,
)
from stepreel.report.index_comparison import storyboards_hash
from stepreel.report.palette import kind_of
from stepreel.report.wording import extent
from stepreel.storyboard.schema import Span

_STYLES = ("shared.css", "compare.css", "compare_parts.css")
_SCRIPTS = ("letters.js", "playhead.js", "player.js", "take_player.js", "compare.js")
_SOURCES = {"img": "data:", "media": "'self' file:"}
LONGEST_NAME = 12  # of a take, above a column
FEW_DEPARTURES = 6  # of more, the rest is folded
FEW_TAKES = 5  # whose pictures side by side can be larger


@dataclass(frozen=True)
class Findings:
    """What is unusual about one take."""

    number: int
    take: ComparedTake
    departures: list[Departure]
    paces: list[UnusualPace]
    outlier: str

    @property
    def is_empty(self) -> bool:
        """Whether nothing is unusual."""
        return not (self.departures or self.paces or self.outlier)

    @property
    def n_departures(self) -> int:
        """How many departures there are."""
        return len(self.departures)

    @property
    def n_paces(self) -> int:
        """How many unusual durations there are."""
        return len(self.paces)

    def told(self, *, surely: bool) -> Findings:
        """Return what is certain, and that a take is unlike the others; or what is uncertain."""
        return Findings(
            self.number,
            self.take,
            [one for one in self.departures if (one.certainty != "uncertain") is surely],
            [one for one in self.paces if (one.certainty != "uncertain") is surely],
            self.outlier if surely else "",
        )


def render_comparison(comparison: Comparison, read: Takes, folder: Path) -> str:
    """Return the page, to be written into `folder`. A missing picture is left blank."""
    kinds = [kind_of(kind.cluster) for kind in comparison.kinds]
    style = inlined_style(_STYLES, kinds=kinds)
    theme_script, script = inlined_script("theme.js"), inlined_script(*_SCRIPTS)
    matrix = lay_out_matrix(comparison)
    boards = [take.board for take in read.takes]
    playables = [playable_of(take, folder) for take in read.takes]
    findings = _findings(comparison)
    return (
        environment()
        .get_template("compare.html.j2")
        .render(
            all_clear=all(v.is_clear is not False for t in comparison.takes for v in t.visits),
            bar_words=bar_words,
            comparison=comparison,
            content_policy=content_policy(style, [theme_script, script], **_SOURCES),
            extent=_extent,
            few_departures=FEW_DEPARTURES,
            few_takes=FEW_TAKES,
            doubts=[one for each in findings if not (one := each.told(surely=False)).is_empty],
            findings=[one for each in findings if not (one := each.told(surely=True)).is_empty],
            graph=lay_out_graph(comparison),
            has_pictures=any(board.recording.kind == "video" for board in boards),
            lanes=lay_out_lanes(comparison),
            matrix=matrix,
            quiet=[one.take.name for one in findings if one.is_empty],
            numbers={take.folder: number for number, take in enumerate(comparison.takes)},
            names={take.folder: take.name for take in comparison.takes},
            page_data=script_safe_json(_page_data(comparison, playables, read.takes)),
            pictures=_pictures(matrix.shown, read.takes),
            playables=playables,
            script=script,
            short_names=short_names([take.name for take in comparison.takes]),
            spreads=lay_out_spreads(comparison),
            storyboards_hash=storyboards_hash((take.folder, take.stored) for take in read.takes),
            step_opens=_step_opens(playables),
            style=style,
            theme_script=theme_script,
            total_seconds=sum(take.duration_seconds for take in comparison.takes),
            without_name=_without_name,
            words=_words(comparison),
        )
    )


def _step_opens(playables: Sequence[Playable]) -> str:
    """Say what a click on a step does."""
    if any(playable.video for playable in playables):
        return "play it"
    leads_away = all(playable.page and not playable.is_seen for playable in playables)
    return "open its take there" if leads_away else "see it"


def _words(comparison: Comparison) -> Words:
    titles = {kind.cluster: kind.title for kind in comparison.kinds if kind.title}
    return Words({take.folder: take.name for take in comparison.takes}, titles)


def _without_name(sentence: str, name: str) -> str:
    """Leave out the name of the take that a sentence begins with.

    >>> _without_name("take3 skips B; the others do it.", "take3")
    'Skips B; the others do it.'
    """
    rest = sentence.removeprefix(f"{name} ")
    return rest[:1].upper() + rest[1:]


def short_names(names: Sequence[str]) -> list[str]:
    """Leave out what long names begin with in common, for narrow columns.

    >>> short_names(["Knot_Tying_S02_T01", "Knot_Tying_S02_T02"]), short_names(["take1", "take2"])
    (['T01', 'T02'], ['take1', 'take2'])
    """
    if max(map(len, names), default=0) <= LONGEST_NAME:
        return list(names)
    common = re.sub(r"[^\W_]*$", "", _common_start(names))
    short = [name[len(common) :] for name in names]
    return short if all(short) else list(names)


def _common_start(names: Sequence[str]) -> str:
    """Return what all names begin with."""
    low, high = min(names), max(names)
    same = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))
    return low[:same]


def _extent(start: float, end: float) -> str:
    return extent(Span(start=start, end=end))


def _findings(comparison: Comparison) -> list[Findings]:
    words = _words(comparison)
    return [
        Findings(
            number,
            take,
            [one for one in comparison.departures if one.take == take.folder],
            [one for one in comparison.unusual_paces if one.take == take.folder],
            words.outlier(take.folder) if take.is_outlier else "",
        )
        for number, take in enumerate(comparison.takes)
    ]


def _pictures(
    shown: Sequence[tuple[int, int]], takes: Sequence[Take]
) -> dict[tuple[int, int], str]:
    """Return the pictures of steps, by the number of the take and the index of the step."""
    files: dict[tuple[int, int], tuple[Path, str]] = {}
    for number, index in shown:
        take = takes[number]
        step = next(step for step in take.board.steps if step.index == index)
        if step.picture:
            files[number, index] = (take.path, step.picture)
    return embedded_pictures(files)


def _page_data(
    comparison: Comparison, playables: Sequence[Playable], takes: Sequence[Take]
) -> dict[str, Any]:
    titles = {kind.cluster: kind.title for kind in comparison.kinds}
    return {
        "takes": [
            {
                "name": take.name,
                "page": playable.page,
                "video": playable.video,
                "offset": playable.offset,
                "problem": playable.problem,
                "duration": take.duration_seconds,
                "visits": [
                    {
                        "kind": visit.cluster,
                        "letter": kind_of(visit.cluster).letter,
                        "title": titles[visit.cluster],
                        "start": visit.start,
                        "end": visit.end,
                        "step": visit.shown,
                        "extent": _extent(visit.start, visit.end),
                    }
                    for visit in take.visits
                ],
            }
            for take, playable in zip(comparison.takes, playables, strict=True)
        ],
    }
