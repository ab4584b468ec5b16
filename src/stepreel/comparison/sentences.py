"""What a comparison says, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from stepreel.comparison.schema import Departure, DepartureType, Visit
from stepreel.report.wording import clock, length
from stepreel.storyboard.letters import letter


@dataclass(frozen=True)
class Words:
    """What takes and kinds of steps are called: takes by folder, titles by cluster."""

    names: Mapping[str, str]
    titles: Mapping[int, str]

    def kind(self, cluster: int) -> str:
        """Name a kind by its title, if a person gave it one, and its letter.

        >>> Words({}, {1: "Fold"}).kind(1), Words({}, {}).kind(1)
        ('“Fold” (B)', 'B')
        """
        title = self.titles.get(cluster)
        return f"“{title}” ({letter(cluster)})" if title else letter(cluster)

    def list_of(self, clusters: Iterable[int]) -> str:
        """Name several kinds in order."""
        return ", ".join(map(self.kind, clusters))

    def departure(
        self,
        type: DepartureType,
        take: str,
        cluster: int,
        other: int | None,
        *,
        times: int,
        otherwise: int,
        compared: int,
        others: int,
        is_earlier: bool,
    ) -> str:
        """Say what a take does differently.

        times      how often the take does the kind
        otherwise  how many other takes do not depart in this way
        compared   how many of the `others` takes that was asked of: those that have both steps
        """
        kind = self.kind(cluster)
        they = f"{_those(otherwise, compared, others)} {'does' if otherwise == 1 else 'do'}"
        match type:
            case "skipped":
                what = f"skips {kind}; {they} it"
            case "fewer":
                what = f"does {kind} {_times(times)}; {they} it more often"
            case "added":
                several = "" if times == 1 else f" ({_times(times)})"
                what = f"adds {kind}{several}, {_which_has(others - otherwise, others)}"
            case "repeated":
                what = f"repeats {kind} ({_times(times)} in all); {they} it less often"
            case "swapped":
                assert other is not None
                what = f"does {kind} before {self.kind(other)}; {they} {self.kind(other)} first"
            case "moved":
                assert other is not None
                now = "earlier, before" if is_earlier else "later, after"
                then = "after" if is_earlier else "before"
                past = self.kind(other)
                what = f"does {kind} {now} {past}; {they} it {then} {past}"
        return f"{self.names[take]} {what}."

    def place_of(self, departure: Departure, visits: Sequence[Visit]) -> str:
        """Say between which visits of a take a missing step would be; "" if none is missing."""
        if departure.type not in ("skipped", "fewer") or not departure.visits:
            return ""
        around = [visits[number - 1] for number in departure.visits]
        sides = [
            f"{'after' if _place(visit) < (departure.usual_place or 0) else 'before'} "
            f"{self.kind(visit.cluster)} ({clock(visit.start)})"
            for visit in around
        ]
        return f"{self.kind(departure.cluster)} would be here, {' and '.join(sides)}"

    def pace(self, take: str, cluster: int | None, seconds: float, median: float) -> str:
        """Say that a take is unusually slow or quick in a kind, or in all."""
        slow = "slow" if seconds > median else "quick"
        what = "" if cluster is None else f" in {self.kind(cluster)}"
        return (
            f"{self.names[take]} is {slow}{what}: {length(seconds)}; "
            f"the median is {length(median)}."
        )

    def outlier(self, take: str) -> str:
        """Say that a take is unlike the others."""
        return (
            f"{self.names[take]} is unlike the others: further from them, in its steps and in the "
            "time it spends on each, than they are from one another."
        )

    def uncertain(self, n_departures: int, n_paces: int, n_takes: int) -> str:
        """Say how much is uncertain.

        >>> Words({}, {}).uncertain(3, 1, 2), Words({}, {}).uncertain(1, 0, 1)
        ('3 uncertain departures and 1 uncertain duration, in 2 takes', '1 uncertain departure')
        """
        counts = ((n_departures, "departure"), (n_paces, "duration"))
        parts = [f"{n} uncertain {what}{'s' if n > 1 else ''}" for n, what in counts if n]
        return " and ".join(parts) + (f", in {n_takes} takes" if n_takes > 1 else "")

    def either_order(self, first: int, second: int, takes_each: int) -> str:
        """Say that two neighbours have no common order."""
        takes = "1 take does" if takes_each == 1 else f"{takes_each} takes do"
        return (
            f"{self.kind(first)} and {self.kind(second)} come in either order: {takes} "
            f"{self.kind(first)} first, as many {self.kind(second)}."
        )


def _place(visit: Visit) -> int:
    return visit.usual_place or 0


def _those(number: int, compared: int, others: int) -> str:
    """Name a number of the other takes.

    >>> _those(4, 4, 4), _those(1, 1, 1), _those(3, 4, 4), _those(1, 4, 4)
    ('the others', 'the other take', '3 of the 4 others', '1 of the 4 others')
    >>> _those(3, 3, 4), _those(2, 3, 4)
    ('the others with both', '2 of the 3 others with both')
    """
    both = " with both" if compared < others else ""
    if number < compared:
        return f"{number} of the {compared} others{both}"
    return f"the others{both}" if others > 1 else "the other take"


def _times(number: int) -> str:
    """Say how often.

    >>> _times(1), _times(2), _times(5)
    ('once', 'twice', '5 times')
    """
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _which_has(number: int, others: int) -> str:
    """Say which of the other takes also have a kind.

    >>> _which_has(0, 4), _which_has(1, 4), _which_has(0, 1)
    ('which no other take has', 'which 1 of the 4 others has too', 'which the other take has not')
    """
    if not number:
        return "which the other take has not" if others == 1 else "which no other take has"
    return f"which {number} of the {others} others {'has' if number == 1 else 'have'} too"
