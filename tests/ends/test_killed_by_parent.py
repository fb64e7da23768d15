"""Children that their parent kills: it lets them write first, so that nothing of the CPU that they had used by then is missing (I-02).

The judge is the child: it tells its own clock until it is killed. Without that last block up to 250 ms were missing, 125 in the middle.
"""

import pytest

from recording import Workshop
from test_not_recorded import ROUNDED_NS, assert_said, assert_written_before_the_kill

CHILDREN = 9


# How many write within 5 ms depends on who else wants a CPU.
@pytest.mark.measures
@pytest.mark.parametrize("way", ["process", "failed_exec", "popen", "group"])
def test_a_killed_child_has_written_what_it_did(workshop: Workshop, way: str) -> None:
    run = workshop.run(workshop.program("tests/programs/killed_children.py"), way, str(CHILDREN))
    profile = run.profile()
    clocks = {int(pid): told for pid, told in run.answer().items()}
    assert len(clocks) == CHILDREN
    for pid, (_, last_ns) in clocks.items():
        child = profile["processes"][profile.process_of(pid)]
        assert child["ended"] is None, child
        assert child["cpu_ns"] + child["cpu_not_recorded_ns"] >= last_ns - ROUNDED_NS, child
    assert_written_before_the_kill(profile, {pid: before_ns for pid, (before_ns, _) in clocks.items()})
    assert_said(run, profile)
