"""How long takes spend on each kind of step, and which take is unusually slow or quick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np

from stepreel.comparison.departures import AlignedTake, certainty
from stepreel.comparison.schema import Durations, TakeSeconds, UnusualPace
from stepreel.comparison.sentences import Words

FEWEST_TAKES = 5  # of fewer, none is called slow or quick
MOST_DEVIATIONS = 3.0
OF_NORMAL = 1.4826  # standard deviations of a normal distribution per median absolute deviation
LEAST_SHARE = 0.1  # of the median: takes are never taken to be more alike than that
LEAST_SECONDS = 0.5


def durations_of(takes: Sequence[AlignedTake], kind: int) -> Durations:
    """Return how long the takes that have a kind spend on it."""
    visits = {
        take.folder: [visit.seconds for visit in take.visits if visit.cluster == kind]
        for take in takes
    }
    return _durations(kind, {folder: seconds for folder, seconds in visits.items() if seconds})


def durations_of_recordings(seconds: Mapping[str, float]) -> Durations:
    """Return how long whole recordings last, by folder."""
    return _durations(None, {folder: [value] for folder, value in seconds.items()})


def _durations(kind: int | None, visits: Mapping[str, list[float]]) -> Durations:
    totals = [sum(seconds) for seconds in visits.values()]
    middle, scale = median(totals), robust_scale(totals)
    low, high = np.percentile(totals, [25, 75])

    def pace(seconds: float) -> str:
        if len(totals) < FEWEST_TAKES:
            return "unknown"
        if abs(seconds - middle) <= MOST_DEVIATIONS * scale:
            return "usual"
        return "slow" if seconds > middle else "quick"

    return Durations.model_validate(
        {
            "cluster": kind,
            "median": middle,
            "quartiles": (float(low), float(high)),
            "deviation": deviation(totals),
            "visit_median": median([value for seconds in visits.values() for value in seconds]),
            "takes": [
                TakeSeconds.model_validate(
                    {
                        "take": folder,
                        "seconds": sum(seconds),
                        "visits": seconds,
                        "pace": pace(sum(seconds)),
                    }
                )
                for folder, seconds in visits.items()
            ],
        }
    )


def deviation(values: Sequence[float]) -> float:
    """Return the median absolute deviation from the median.

    >>> deviation([4, 5, 6, 9])
    1.0
    """
    middle = median(values)
    return float(median([abs(value - middle) for value in values]))


def robust_scale(values: Sequence[float]) -> float:
    """Return how far durations usually are from their median; one odd take hardly changes it.

    >>> robust_scale([10, 10, 10, 10, 50])
    1.0
    """
    least = max(LEAST_SHARE * median(values), LEAST_SECONDS)
    return float(max(OF_NORMAL * deviation(values), least))


def unusual_paces(
    durations: Sequence[Durations], takes: Sequence[AlignedTake], words: Words
) -> list[UnusualPace]:
    """Return the takes that are slow or quick, with a sentence each, by take."""
    found = []
    for take in takes:
        for row in durations:
            for entry in row.takes:
                if entry.take == take.folder and entry.pace in ("slow", "quick"):
                    found.append(_unusual(row, entry, take, words))
    return found


def _unusual(row: Durations, entry: TakeSeconds, take: AlignedTake, words: Words) -> UnusualPace:
    rests_on = [visit for visit in take.visits if visit.cluster == row.cluster]
    return UnusualPace.model_validate(
        {
            "take": entry.take,
            "cluster": row.cluster,
            "type": entry.pace,
            "seconds": entry.seconds,
            "median": row.median,
            "certainty": certainty(rests_on),
            "sentence": words.pace(entry.take, row.cluster, entry.seconds, row.median),
        }
    )
