"""The bench's arithmetic: the interval of a median, worked out by hand."""

import medians
from medians import Median


def test_the_interval_of_a_median() -> None:
    # Of 6 values, min and max hold the median with 1 - 2/64 = 96.9 %; of 5 only with 93.8 %: still the extremes, no better exist.
    assert medians.interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == (1.0, 6.0)
    assert medians.interval([1.0, 2.0, 3.0, 4.0, 5.0]) == (1.0, 5.0)
    # Of 11: second and tenth hold it with 1 - 2·(1 + 11)/2048 = 98.8 %, third and ninth with 93.5 %.
    assert medians.interval([float(n) for n in range(11)]) == (1.0, 9.0)


def test_the_printed_form() -> None:
    assert str(medians.median([1.0, 1.1, 1.2])) == "1.100 [1.000, 1.200]"


def test_ratios_are_taken_within_a_round() -> None:
    # The second round ran on a machine three times as slow: no ratio notices.
    assert medians.ratios([2.0, 6.0], [1.0, 3.0]) == Median(2.0, 2.0, 2.0, 2)
