"""Short system calls have the share that they take, not that of the interrupts between two CPUs (docs/decisions/13-the-moment-that-is-seen.md)."""

import pytest

from figures import Figure
from profile_tables import RUNNING
from recording import Workshop

pytestmark = pytest.mark.measures

# In a virtual machine, signals from another CPU gave these calls 31 and 29 % of the samples, where 4 and 9 are right.
BEYOND_MAX = 0.15
ROUNDS = "250"


@pytest.mark.parametrize("call", ["getppid", "process_time"])
def test_short_system_calls_have_their_share(workshop: Workshop, figure: Figure, call: str) -> None:
    run = workshop.run(workshop.program("tests/programs/system_calls.py"), call, ROUNDS, flags=("--rate", "1000"))
    assert run.exit_code == 0, run.stderr
    measured_ns = run.answer()
    true = measured_ns["alone"] / measured_ns["mixed"]
    rows = [row for row in run.profile().rows() if row.state in RUNNING and "mixed" in row.names()]
    in_calls_ns = sum(row.cpu_ns for row in rows if any(call in name for name in row.names()))
    seen = in_calls_ns / sum(row.cpu_ns for row in rows)
    figure(f"{call}: share of its samples beyond the true one", seen - true, f"of {true:.3f}", bound=BEYOND_MAX)
    assert seen - true <= BEYOND_MAX, f"{seen:.3f} of {true:.3f}"
