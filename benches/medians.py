"""Medians and the intervals that hold them, from order statistics: no distribution is assumed.

Owns: that arithmetic. Never: leaves a value out, rounds.
"""

import statistics
from dataclasses import dataclass
from math import comb

OUTSIDE_MAX = 0.05


@dataclass(frozen=True)
class Median:
    middle: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return f"{self.middle:.3f} [{self.low:.3f}, {self.high:.3f}]"


def median(values: list[float]) -> Median:
    low, high = interval(sorted(values))
    return Median(statistics.median(values), low, high, len(values))


def ratios(above: list[float], below: list[float]) -> Median:
    """Of pairs from the same round: what moves both (the machine, its temperature, its neighbours) divides out."""
    return median([one / other for one, other in zip(above, below, strict=True)])


def interval(values: list[float]) -> tuple[float, float]:
    """The narrowest pair of order statistics of sorted `values` that holds the median with at least 95 %; the extremes when
    there are too few."""
    count = len(values)
    for cut in range(count // 2, 0, -1):
        outside = 2 * sum(comb(count, below) for below in range(cut)) / 2**count
        if outside <= OUTSIDE_MAX:
            return values[cut - 1], values[count - cut]
    return values[0], values[-1]
