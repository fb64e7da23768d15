"""Bounds for shares, derived from the number of samples. Owns: the five-sigma rule. Never: a tolerance chosen by taste."""

from math import sqrt

SIGMAS = 5


def share_bound(share: float, samples: int) -> float:
    """How far a share measured with `samples` independent looks may stand from the true `share`."""
    assert samples > 0
    return SIGMAS * sqrt(share * (1 - share) / samples)


def assert_share(name: str, measured: float, true: float, samples: int) -> None:
    bound = share_bound(true, samples)
    assert abs(measured - true) <= bound, (
        f"{name}: {measured:.4f} measured, {true:.4f} true, bound {bound:.4f} ({SIGMAS} σ of {samples} samples)"
    )
