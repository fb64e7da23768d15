"""Children that their parent kills: it lets them write first, so that next to nothing of their CPU is missing (I-02).

The judge is the child: it tells its own clock until it is killed. Without that last block up to 250 ms were missing, 125 in the middle.
"""

import statistics

import pytest

from recording import Workshop
from test_not_recorded import ROUNDED_NS, assert_said

CHILDREN = 9
# The parent waits for 5 ms at most. The child goes on until the signal has reached it, and the kernel takes its memory apart.
MISSING_NS_MAX = 25_000_000


@pytest.mark.parametrize("way", ["process", "failed_exec", "popen", "group"])
def test_a_killed_child_has_written_what_it_did(workshop: Workshop, way: str) -> None:
    run = workshop.run(workshop.program("tests/programs/killed_children.py"), way, str(CHILDREN))
    profile = run.profile()
    clocks = run.answer()
    assert len(clocks) == CHILDREN
    missing = []
    for pid, clock_ns in clocks.items():
        child = profile["processes"][profile.process_of(int(pid))]
        assert child["ended"] is None, child
        assert child["cpu_ns"] + child["cpu_not_recorded_ns"] >= clock_ns - ROUNDED_NS, child
        missing.append(child["cpu_not_recorded_ns"])
    # Of one that got no CPU in time more is missing; of most it is not.
    assert statistics.median(missing) < MISSING_NS_MAX, missing
    assert_said(run, profile)
