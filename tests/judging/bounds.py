"""Bounds for shares, derived from the number of samples. Owns: both rules. Never: a tolerance chosen by taste.

`share_bound`, five sigma, is for tests that ask one question. `Matrix` is for tests that ask many of the same kind: the bounds
are such that one false alarm in *all* of the comparisons together has a chance below FALSE_ALARM_MAX.

Where the second comes from. A look is a coin that falls on "inside" with the true share p. Of n looks, a share as far off as q or
further comes with a chance of at most exp(−n · D(q, p)) on each side, where D(q, p) = q ln(q/p) + (1−q) ln((1−q)/(1−p)); that is
the Chernoff bound, and holds for small n and for shares near 0 and 1, where counting sigmas does not. With c comparisons of
two sides each, n · D ≥ ln(2c / FALSE_ALARM_MAX) keeps the sum of all chances below it.
Shares of CPU time have samples of unequal weight w (a late sample stands for more). They are as uncertain as those of
(Σw)² / Σw² equal samples (Kish, "Survey Sampling", 1965): that is the n to use, never their count.
"""

from dataclasses import dataclass
from math import log, sqrt

SIGMAS = 5
FALSE_ALARM_MAX = 1e-6


def share_bound(share: float, samples: int) -> float:
    """How far a share measured with `samples` independent looks may stand from the true `share`."""
    assert samples > 0
    return SIGMAS * sqrt(share * (1 - share) / samples)


def is_share(measured: float, true: float, samples: int) -> bool:
    return abs(measured - true) <= share_bound(true, samples)


def assert_share(name: str, measured: float, true: float, samples: int) -> None:
    bound = share_bound(true, samples)
    assert is_share(measured, true, samples), (
        f"{name}: {measured:.4f} measured, {true:.4f} true, bound {bound:.4f} ({SIGMAS} σ of {samples} samples)"
    )


def effective_samples(weights: float, squares: float) -> float:
    """How many equal samples the given sums (of the weights, and of their squares) are worth."""
    return weights * weights / squares


def divergence(seen: float, true: float) -> float:
    """D(q, p) of the two outcomes, in nats."""
    return sum(q * log(q / p) for q, p in ((seen, true), (1 - seen, 1 - true)) if q > 0)


@dataclass(frozen=True)
class Matrix:
    """`comparisons`: how many shares are compared in all."""

    comparisons: int

    def limits(self, true: float, samples: float) -> tuple[float, float]:
        """Between which shares `samples` equal looks may end when the truth is `true`."""
        assert samples > 0 and 0 < true < 1
        farthest = log(2 * self.comparisons / FALSE_ALARM_MAX) / samples
        return _where(true, 0.0, farthest), _where(true, 1.0, farthest)

    def assert_share(self, name: str, measured: float, true: float, samples: float) -> None:
        low, high = self.limits(true, samples)
        assert low <= measured <= high, (
            f"{name}: {measured:.4f} measured, {true:.4f} true, may be {low:.4f} to {high:.4f} with {samples:.0f} samples"
        )


def _where(true: float, end: float, farthest: float) -> float:
    """The share between `true` and `end` whose divergence is `farthest`, or `end` when none reaches it."""
    if divergence(end, true) <= farthest:
        return end
    near, far = true, end
    for _ in range(60):
        middle = (near + far) / 2
        near, far = (middle, far) if divergence(middle, true) <= farthest else (near, middle)
    return near
