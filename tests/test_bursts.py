"""Short bursts of work are seen as often as their CPU time says, all of their parts, also where no CPU is idle when a tick is due.

Sampling from a thread beside the program, its own turn must not come when the program goes to sleep.
"""

import os

import pytest

from bounds import Matrix, effective_samples
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
SEEN_MIN = 0.5


def test_on_one_cpu(workshop: Workshop, figure: Figure) -> None:
    judge(workshop.run(workshop.program("tests/programs/bursts.py"), str(BURSTS), "pinned", flags=("--rate", "1000")), figure)


def test_where_all_cpus_are_busy(workshop: Workshop, busy: None, figure: Figure) -> None:
    judge(workshop.run(workshop.program("tests/programs/bursts.py"), str(BURSTS), flags=("--rate", "1000")), figure)


def judge(run: Run, figure: Figure) -> None:
    measured_ns = run.answer()
    rows = [row for row in run.profile().rows() if row.state in RUNNING and set(PARTS) & set(row.names())]
    seen_ns = {part: sum(row.cpu_ns for row in rows if part in row.names()) for part in PARTS}
    whole_ns = sum(measured_ns.values())
    samples = effective_samples(sum(seen_ns.values()) / 1000, sum(row.cpu_us2 for row in rows))
    worth = samples * INTERVAL_NS / whole_ns
    figure("samples, as many equal ones, for each interval of CPU", worth, "", bound=f"at least {SEEN_MIN}")
    assert worth >= SEEN_MIN, f"{samples:.0f} samples of {whole_ns / 1e6:.0f} ms of CPU"
    for part in PARTS:
        seen, true = seen_ns[part] / sum(seen_ns.values()), measured_ns[part] / whole_ns
        low, high = MATRIX.limits(true, samples)
        figure(f"{part}: away from the true share", seen - true, f"of {true:.3f}", bound=f"{low - true:+.3f} to {high - true:+.3f}")
        MATRIX.assert_share(part, seen, true, samples)
