"""Stacks that are deeper than a sample holds: how deep they are is counted, whatever lies between the frames."""

import pytest

from recording import Workshop

PROGRAM = """
import sys, time
sys.setrecursionlimit(100_000)

def works(): return sum(range(100_000))

def calls(depth): return calls(depth - 1) + 1 if depth else works()

def through_c(depth): return next(map(through_c, [depth - 1])) + 1 if depth else works()

class Classes:
    def __init__(self, depth): self.below = Classes(depth - 1) if depth else works()

how, depth = sys.argv[1], int(sys.argv[2])
until = time.process_time() + 0.8
while time.process_time() < until: globals()[how](depth)
"""


@pytest.mark.parametrize(("how", "function", "depth"), [("calls", "calls", 4000), ("through_c", "through_c", 1200), ("Classes", "Classes.__init__", 1200)])
def test_the_depth_is_counted(workshop: Workshop, how: str, function: str, depth: int) -> None:
    if how != "calls" and workshop.interpreter.minor == "3.12":
        pytest.skip("CPython 3.12 ends what goes through C before a sample is full")
    run = workshop.run(workshop.write("deep.py", PROGRAM), how, str(depth))
    assert run.exit_code == 0, run.stderr
    verdict = run.report_json()["verdict"]
    assert (verdict["name"], verdict["figures"]["depth_max"], verdict["figures"]["is_depth_cut"]) == ("recursion", depth + 1, False), verdict
    assert f"recursion: {function} (deep.py:" in run.report(), run.report()


RETURNS = """
import sys, time
sys.setrecursionlimit(100_000)

def returns(depth):
    if depth: returns(depth - 1)

until = time.process_time() + 0.8
while time.process_time() < until: returns(40_000)
"""


def test_no_stack_is_cut_while_its_memory_is_given_back(workshop: Workshop) -> None:
    if workshop.interpreter.minor == "3.11":
        pytest.skip("CPython 3.11 gives the memory of a frame back before it forgets the frame: docs/limits.md")
    run = workshop.run(workshop.write("returns.py", RETURNS))
    assert run.exit_code == 0, run.stderr
    assert "[Python stack cut: not readable]" not in run.collapsed_text()
