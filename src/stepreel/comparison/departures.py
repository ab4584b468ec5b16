"""The departures of a take from the usual order, each with a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from stepreel.comparison.alignment import Alignment, Move
from stepreel.comparison.schema import Certainty, Departure, DepartureType, Visit
from stepreel.comparison.sentences import Words
from stepreel.comparison.usual_order import UsualOrder


@dataclass(frozen=True)
class AlignedTake:
    """A take with its visits and their alignment."""

    folder: str
    visits: list[Visit]
    alignment: Alignment

    @property
    def kinds(self) -> list[int]:
        """The kind of each visit."""
        return [visit.cluster for visit in self.visits]

    def number_of(self, kind: int) -> int:
        """How many times the take does a kind."""
        return self.kinds.count(kind)


@dataclass(frozen=True)
class _Found:
    """A departure before it has words; `rests_on` are the visits whose steps it rests on."""

    type: DepartureType
    cluster: int
    visits: list[int]
    rests_on: list[Visit]
    takes_compared: int
    takes_otherwise: int
    place: int | None = None
    other: int | None = None
    is_earlier: bool = False


def departures_of(
    take: AlignedTake, takes: Sequence[AlignedTake], usual: UsualOrder, words: Words
) -> list[Departure]:
    """Return the departures of a take, in the order in which they come in it."""
    others = [other for other in takes if other is not take]
    found = [
        *_moved(take, others, usual),
        *_missing(take, others, usual),
        *_surplus(take, others, usual),
    ]
    return [_in_words(one, take, others, words) for one in sorted(found, key=_position)]


def _position(found: _Found) -> tuple[int, int]:
    return (found.visits[0] if found.visits else 0, found.place or 0)


def _in_words(
    found: _Found, take: AlignedTake, others: Sequence[AlignedTake], words: Words
) -> Departure:
    return Departure(
        take=take.folder,
        type=found.type,
        cluster=found.cluster,
        other=found.other,
        visits=[visit + 1 for visit in found.visits],
        usual_place=None if found.place is None else found.place + 1,
        takes_compared=found.takes_compared,
        takes_otherwise=found.takes_otherwise,
        certainty=certainty(found.rests_on),
        sentence=words.departure(
            found.type,
            take.folder,
            found.cluster,
            found.other,
            times=take.number_of(found.cluster),
            otherwise=found.takes_otherwise,
            compared=found.takes_compared,
            others=len(others),
            is_earlier=found.is_earlier,
        ),
    )


def certainty(visits: Iterable[Visit]) -> Certainty:
    """Tell how sure a statement is that rests on these visits."""
    levels = [visit.is_clear for visit in visits]
    if None in levels:
        return "unknown"
    return "clear" if all(levels) else "uncertain"


def _moved(take: AlignedTake, others: Sequence[AlignedTake], usual: UsualOrder) -> list[_Found]:
    """Two steps exchanged are one departure, also if both had to be moved."""
    found: list[_Found] = []
    seen: set[frozenset[int]] = set()
    for move in take.alignment.moves:
        pair = frozenset({move.pair[1], move.passed[0][1]})
        if len(move.passed) == 1 and pair in seen:
            continue
        seen |= {pair} if len(move.passed) == 1 else set()
        found.append(_move(move, take, others, usual))
    return found


def _move(
    move: Move, take: AlignedTake, others: Sequence[AlignedTake], usual: UsualOrder
) -> _Found:
    visit, place = move.pair
    is_earlier = place > move.passed[0][1]
    # The last step that it went past: of those it now precedes, the first one.
    last = min(move.passed) if is_earlier else max(move.passed)
    low, high = sorted((place, last[1]))
    found = _Found(
        "swapped" if len(move.passed) == 1 else "moved",
        take.visits[visit].cluster,
        sorted([visit, last[0]]) if len(move.passed) == 1 else [visit],
        [take.visits[visit], *(take.visits[other] for other, _ in move.passed)],
        takes_compared=int(usual.before[low, high] + usual.before[high, low]) - 1,
        takes_otherwise=int(usual.before[low, high]),
        place=place,
        other=take.visits[last[0]].cluster,
        is_earlier=is_earlier,
    )
    if found.type == "swapped" and not is_earlier:  # named by what comes first in this take
        earlier = take.visits[last[0]].cluster
        return replace(found, cluster=earlier, other=found.cluster, place=last[1], is_earlier=True)
    return found


def _missing(take: AlignedTake, others: Sequence[AlignedTake], usual: UsualOrder) -> list[_Found]:
    """One departure per kind, however many of its usual visits are missing."""
    found = {}
    for place in take.alignment.missing:
        kind = usual.kinds[place]
        if kind in found:
            continue
        times = take.number_of(kind)
        around = _around(take, place)
        found[kind] = _Found(
            "fewer" if times else "skipped",
            kind,
            around,
            [
                *(take.visits[visit] for visit in around),
                *(_clearest(other, kind) for other in others if other.number_of(kind) > times),
            ],
            takes_compared=len(others),
            takes_otherwise=sum(other.number_of(kind) > times for other in others),
            place=place,
        )
    return list(found.values())


def _around(take: AlignedTake, place: int) -> list[int]:
    """Return the visits between which a missing step was expected."""
    pairs = take.alignment.in_place
    earlier = [visit for visit, other in pairs if other < place]
    later = [visit for visit, other in pairs if other > place]
    return [*earlier[-1:], *later[:1]]


def _clearest(take: AlignedTake, kind: int) -> Visit:
    return max((v for v in take.visits if v.cluster == kind), key=lambda visit: visit.confidence)


def _surplus(take: AlignedTake, others: Sequence[AlignedTake], usual: UsualOrder) -> list[_Found]:
    """One departure per kind, with all visits too many."""
    by_kind: dict[int, list[int]] = {}
    for visit in take.alignment.surplus:
        by_kind.setdefault(take.visits[visit].cluster, []).append(visit)
    found = []
    for kind, visits in by_kind.items():
        times = take.number_of(kind)
        found.append(
            _Found(
                "repeated" if kind in usual.kinds else "added",
                kind,
                visits,
                [take.visits[visit] for visit in visits],
                takes_compared=len(others),
                takes_otherwise=sum(
                    other.number_of(kind) < times
                    if kind in usual.kinds
                    else not other.number_of(kind)
                    for other in others
                ),
            )
        )
    return found
