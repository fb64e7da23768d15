"""The five-sigma rule, on numbers worked out by hand."""

import pytest

from bounds import assert_share, share_bound


def test_the_bound() -> None:
    assert share_bound(0.5, 100) == 0.25
    assert share_bound(0.5, 10_000) == 0.025
    assert share_bound(0.0, 7) == 0.0


def test_a_share_too_far_away_is_caught() -> None:
    assert_share("half", 0.524, 0.5, 10_000)
    with pytest.raises(AssertionError, match="half: 0.5260 measured, 0.5000 true, bound 0.0250"):
        assert_share("half", 0.526, 0.5, 10_000)
