"""Compare takes: their usual order, what each does differently, and how long each step takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from stepreel.comparison.alignment import Alignment, align
from stepreel.comparison.departures import AlignedTake, departures_of
from stepreel.comparison.distances import distances_between, mean_distances, outliers
from stepreel.comparison.durations import durations_of, durations_of_recordings, unusual_paces
from stepreel.comparison.notes import notes_on
from stepreel.comparison.schema import (
    ComparedKind,
    ComparedTake,
    Comparison,
    EitherOrder,
    Role,
    Transition,
    Visit,
)
from stepreel.comparison.sentences import Words
from stepreel.comparison.takes import Take, Takes
from stepreel.comparison.usual_order import UsualOrder, find_usual_order
from stepreel.comparison.visits import visits_of
from stepreel.report.kind_titles import kind_titles
from stepreel.report.wording import one_line
from stepreel.storyboard.editing import is_edited
from stepreel.storyboard.letters import letter
from stepreel.storyboard.review_notes import is_unclear
from stepreel.version import __version__


def compare(read: Takes) -> Comparison:
    """Compare takes of one run."""
    takes = read.takes
    visits = [visits_of(take.board) for take in takes]
    orders = [[visit.cluster for visit in of_take] for of_take in visits]
    usual = find_usual_order(orders)
    aligned = [
        AlignedTake(take.folder, of_take, align(order, [v.seconds for v in of_take], usual))
        for take, of_take, order in zip(takes, visits, orders, strict=True)
    ]
    words = Words(_names(takes), kind_titles(s for take in takes for s in take.board.steps))
    kinds = _kinds(aligned, usual, words)
    lengths = {take.folder: take.board.recording.duration_seconds for take in takes}
    durations = [
        *(durations_of(aligned, kind.cluster) for kind in kinds),
        durations_of_recordings(lengths),
    ]
    return Comparison(
        clustering_id=takes[0].board.clustering_id,
        kinds=kinds,
        usual_order=usual.kinds,
        either_order=_either_order(usual),
        takes=_compared_takes(takes, aligned, words),
        departures=[one for take in aligned for one in departures_of(take, aligned, usual, words)],
        durations=durations,
        unusual_paces=unusual_paces(durations, aligned, words),
        transitions=_transitions(orders, usual.kinds),
        notes=notes_on([take.board for take in takes]),
        left_out=read.left_out,
        stepreel_version=__version__,
    )


def _names(takes: Sequence[Take]) -> dict[str, str]:
    """Call takes by their title, or by their folder if titles are empty or not unique."""
    titles = {take.folder: one_line(take.board.title) for take in takes}
    if len(set(titles.values())) < len(takes) or not all(titles.values()):
        return {take.folder: take.folder for take in takes}
    return titles


def _kinds(takes: Sequence[AlignedTake], usual: UsualOrder, words: Words) -> list[ComparedKind]:
    """Return all kinds: the usual ones in order, then the others as they first appear."""
    in_takes = [kind for take in takes for kind in take.kinds]
    return [
        ComparedKind(
            cluster=kind,
            letter=letter(kind),
            title=words.titles.get(kind, ""),
            takes=sum(take.number_of(kind) > 0 for take in takes),
            usual_visits=usual.kinds.count(kind),
        )
        for kind in dict.fromkeys([*usual.kinds, *in_takes])
    ]


def _compared_takes(
    takes: Sequence[Take], aligned: Sequence[AlignedTake], words: Words
) -> list[ComparedTake]:
    seconds: list[Counter[int]] = [Counter() for _ in takes]
    for of_take, take in zip(seconds, aligned, strict=True):
        for visit in take.visits:
            of_take[visit.cluster] += visit.seconds  # type: ignore[assignment]
    distances = distances_between([take.kinds for take in aligned], seconds)
    return [
        ComparedTake(
            folder=take.folder,
            name=words.names[take.folder],
            duration_seconds=take.board.recording.duration_seconds,
            is_edited=is_edited(take.board),
            is_unclear=is_unclear(take.board),
            distance=distance,
            is_outlier=is_outlier,
            visits=_with_roles(of_take.visits, of_take.alignment),
        )
        for take, of_take, distance, is_outlier in zip(
            takes, aligned, mean_distances(distances), outliers(distances), strict=True
        )
    ]


def _with_roles(visits: Sequence[Visit], alignment: Alignment) -> list[Visit]:
    """Say of each visit whether it is in its place."""
    roles: dict[int, tuple[Role, int | None]] = {}
    for visit, place in alignment.in_place:
        roles[visit] = ("usual", place + 1)
    for move in alignment.moves:
        roles[move.pair[0]] = ("moved", move.pair[1] + 1)
    kinds = {visits[visit].cluster for visit in roles}
    for visit in alignment.surplus:
        roles[visit] = ("repeated" if visits[visit].cluster in kinds else "added", None)
    return [
        visit.model_copy(update={"role": roles[i][0], "usual_place": roles[i][1]})
        for i, visit in enumerate(visits)
    ]


def _either_order(usual: UsualOrder) -> list[EitherOrder]:
    """Return the neighbours that as many takes do in one order as in the other."""
    found = []
    for place, (first, second) in enumerate(pairwise(usual.kinds)):
        there, back = usual.before[place, place + 1], usual.before[place + 1, place]
        if there == back and there and first != second:
            found.append(EitherOrder(first=first, second=second, takes_each=int(there)))
    return found


def _transitions(orders: Sequence[Sequence[int]], usual: Sequence[int]) -> list[Transition]:
    """Count in how many takes one kind directly follows another; the most common ones first."""

    def pairs(order: Sequence[int]) -> list[tuple[int | None, int | None]]:
        return list(pairwise([None, *order, None]))

    counts = Counter(pair for order in orders for pair in dict.fromkeys(pairs(order)))
    is_usual = set(pairs(usual))
    return [
        Transition(before=before, after=after, takes=takes, is_usual=(before, after) in is_usual)
        for (before, after), takes in counts.most_common()
    ]
