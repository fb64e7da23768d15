"""CPython's own JIT (`PYTHON_JIT=1`): the C stack goes through the code that it made to the program's first frame, and every stack is possible."""

import pytest

from bounds import share_bound
from jit import JIT, jitted  # noqa: F401  (fixture)
from recording import REPOSITORY, Workshop
from stacks import PossibleStacks

CPU_SECONDS = "0.8"
RATE = ("--rate", "4000")
# A look may fall between a trace's first and last instructions (docs/limits.md): so much of the time, beside what as few looks err by.
CUT_MAX = 0.02
CUT = "[C stack cut: code of no known file]"
# Where genba does not know the way (docs/limits.md): traces that begin otherwise, and some that call functions in C.
NOT_KNOWN = {("3.14-standalone", None), ("3.14", "sort_in_sub.py")}


CHURN = '''"""Traces are made and thrown away all the time: each function lives for one turn. argv: CPU seconds."""

import sys
from time import process_time

TEXT = """
def work(count):
    total = 0
    for number in range(count):
        total += number * 3 & 255
    return total
"""


def main(cpu_seconds):
    while process_time() < cpu_seconds:
        names = {}
        exec(TEXT, names)
        names["work"](20000)


if __name__ == "__main__":
    main(float(sys.argv[1]))
'''


@pytest.mark.measures
@pytest.mark.parametrize("name", ["flat.py", "nested.py", "generators.py", "operators.py", "sort_in_sub.py", "churn"])
def test_the_c_stack_is_whole(jitted: Workshop, name: str) -> None:
    if name == "churn":
        program, text = jitted.write("traces.py", CHURN), CHURN
    else:
        program, text = jitted.program(f"tests/programs/{name}"), (REPOSITORY / "tests/programs" / name).read_text()
    run = jitted.run(program, CPU_SECONDS, flags=RATE, environment=JIT)
    assert run.exit_code == 0, run.stderr
    possible = PossibleStacks(program, text)
    stacks = [stack for stack in run.collapsed() if any(frame.kind == "python" for frame in stack.frames)]
    judged = sum(stack.weight for stack in stacks)
    assert judged > 100, f"only {judged} samples"
    if name != "churn":
        faults = [(possible.faults(stack), stack) for stack in stacks if possible.faults(stack)]
        assert not faults, "\n".join(f"{'; '.join(reasons)}\n{stack}" for reasons, stack in faults[:3])
    cut = [stack for stack in stacks if any(frame.kind == "mark" and CUT in frame.name for frame in stack.frames)]
    share = sum(stack.weight for stack in cut) / judged
    is_known = not NOT_KNOWN & {(jitted.interpreter.name, None), (jitted.interpreter.name, name)}
    cut_max = CUT_MAX + share_bound(CUT_MAX, judged)
    assert not is_known or share <= cut_max, f"{share:.1%} of {judged} samples are cut:\n" + "\n".join(map(str, cut[:3]))
    # Of the JIT's own code nothing is shown but where the stack ends in it.
    assert not any("[generated code]" in frame.module for stack in stacks if stack not in cut for frame in stack.frames)
