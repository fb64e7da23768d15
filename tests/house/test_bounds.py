"""Both rules of bounds.py, on numbers worked out by hand."""

from math import exp

import pytest

from bounds import FALSE_ALARM_MAX, Matrix, assert_share, divergence, effective_samples, share_bound


def test_the_bound() -> None:
    assert share_bound(0.5, 100) == 0.25
    assert share_bound(0.5, 10_000) == 0.025
    assert share_bound(0.0, 7) == 0.0


def test_a_share_too_far_away_is_caught() -> None:
    assert_share("half", 0.524, 0.5, 10_000)
    with pytest.raises(AssertionError, match="half: 0.5260 measured, 0.5000 true, bound 0.0250"):
        assert_share("half", 0.526, 0.5, 10_000)


def test_limits_of_a_matrix() -> None:
    """Ten looks at a coin: all on one side has a chance of 1 in 1,024, which 100 comparisons must allow for."""
    assert Matrix(100).limits(0.5, 10) == (0.0, 1.0)
    low, high = Matrix(100).limits(0.05, 2000)
    for limit in (low, high):
        chances = 2 * 100 * exp(-2000 * divergence(limit, 0.05))
        assert chances == pytest.approx(FALSE_ALARM_MAX)
    # About 6.2 sigma for the middle of a hundred comparisons, more above a small share than below it.
    assert Matrix(100).limits(0.5, 10_000)[1] - 0.5 == pytest.approx(6.18 * 0.005, rel=0.01)
    assert high - 0.05 > 0.05 - low


def test_a_share_outside_of_the_matrix_is_caught() -> None:
    Matrix(100).assert_share("half", 0.53, 0.5, 10_000)
    with pytest.raises(AssertionError, match="half: 0.4680 measured"):
        Matrix(100).assert_share("half", 0.468, 0.5, 10_000)


def test_unequal_weights_are_worth_fewer() -> None:
    assert effective_samples(4, 4) == 4
    assert effective_samples(3 + 1, 9 + 1) == 1.6
