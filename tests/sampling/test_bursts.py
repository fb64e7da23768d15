"""Short bursts of work are seen as often as their CPU time says, and each of their parts, also where the sampler has no CPU of its own.

The sampler is a thread beside the program: its turn must not come when the program goes to sleep, and what a sample stands for
must not depend on where in a burst it fell.
"""

import os

import pytest

from bounds import Matrix, effective_samples
from busy import busy
from disturbed import undisturbed
from figures import Figure
from interpreters import SUPPORTED
from profile_tables import RUNNING
from recording import Run, Workshop
from soak import SOAK

pytestmark = [
    pytest.mark.measures,
    pytest.mark.skipif(
        tuple(int(number) for number in os.uname().release.split(".")[:2]) < (6, 12),
        reason="before Linux 6.12 a thread cannot ask for a short slice (docs/limits.md)",
    ),
]

PARTS = ("first", "second", "third", "last")
MATRIX = Matrix(2 * len(PARTS) * len(SUPPORTED))
BURSTS = 5_000 if SOAK else 700
INTERVAL_NS = 1_000_000
# Samples that are worth as much as equal ones, for each interval of CPU time: about one where nothing is missed.
SEEN_MIN = 0.5
SEEN_MIN_BUSY = 0.25


@pytest.mark.parametrize("where", ["pinned", "free"])
def test_every_part_is_seen(workshop: Workshop, figure: Figure, where: str) -> None:
    # Where the machine stalls (a busy host, a slow disk), one sample counts many bursts.
    program = workshop.program("tests/programs/bursts.py")
    run = undisturbed(lambda: workshop.run(program, str(BURSTS), where, flags=("--rate", "1000")), is_well)
    judge(run, figure, where, SEEN_MIN, MATRIX)


@pytest.mark.skipif(not SOAK, reason="make soak: a figure, no promise")
def test_where_all_cpus_are_busy(workshop: Workshop, figure: Figure) -> None:
    """The kernel lets a burst begin undisturbed there (docs/limits.md): how far that shifts the shares is a figure, no promise."""
    with busy():
        run = workshop.run(workshop.program("tests/programs/bursts.py"), str(BURSTS), flags=("--rate", "1000"))
    judge(run, figure, "all CPUs busy", SEEN_MIN_BUSY, None)


def measured(run: Run) -> tuple[dict[str, tuple[float, float]], float, float]:
    """Of each part the share that was seen and the true one; how many equal samples they rest on, and how many of those each interval of CPU has."""
    measured_ns = run.answer()
    rows = [row for row in run.profile().rows() if row.state in RUNNING and set(PARTS) & set(row.names())]
    seen_ns = {part: sum(row.cpu_ns for row in rows if part in row.names()) for part in PARTS}
    whole_ns = sum(measured_ns.values())
    samples = effective_samples(sum(seen_ns.values()) / 1000, sum(row.cpu_us2 for row in rows))
    shares = {part: (seen_ns[part] / sum(seen_ns.values()), measured_ns[part] / whole_ns) for part in PARTS}
    return shares, samples, samples * INTERVAL_NS / whole_ns


def is_well(run: Run) -> bool:
    shares, samples, worth = measured(run)
    limits = {part: MATRIX.limits(true, samples) for part, (_, true) in shares.items()}
    return worth >= SEEN_MIN and all(limits[part][0] <= seen <= limits[part][1] for part, (seen, _) in shares.items())


def judge(run: Run, figure: Figure, where: str, seen_min: float, matrix: Matrix | None) -> None:
    shares, samples, worth = measured(run)
    figure(f"{where}: samples for each interval of CPU", worth, "", bound=f"at least {seen_min}")
    assert worth >= seen_min, f"{samples:.0f} samples, {worth:.2f} for each interval of CPU"
    for part, (seen, true) in shares.items():
        if matrix is None:
            figure(f"{where}, {part}: away from the true share", seen - true, f"of {true:.3f}")
            continue
        low, high = matrix.limits(true, samples)
        bound = f"{low - true:+.3f} to {high - true:+.3f}"
        figure(f"{where}, {part}: away from the true share", seen - true, f"of {true:.3f}", bound=bound)
        matrix.assert_share(part, seen, true, samples)
