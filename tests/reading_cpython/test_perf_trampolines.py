"""`-X perf`, `-X perf_jit` and `sys.activate_stack_trampoline`: CPython calls each Python function through code that lies in no file. The stacks are those of the same program without."""

import pytest

from bounds import share_bound
from recording import REPOSITORY, Run, Workshop
from stacks import PossibleStacks, Stack

CPU_SECONDS = "0.6"
RATE = ("--rate", "2000")
# Where a stack is just being changed, a walk in a build by BOLT may lose its way: so much of the time, beside what as few looks err by.
CUT_MAX = 0.02
PROGRAMS = ["generators.py", "sort_in_sub.py"]

# Trampolines begin and end while threads are in Python functions, and a fork takes them along.
TURNED_ON_AND_OFF = '''"""argv: CPU seconds of each part."""
import os, sys, threading, time

def leaf(count):
    return sum(range(count))

def negative(number):
    return -number

def work(end):
    while time.thread_time() < end:
        leaf(200)
        sorted(range(200), key=negative)

def part():
    threads = [threading.Thread(target=work, args=(float(sys.argv[1]) / 2,)) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

part()
sys.activate_stack_trampoline("perf")
part()
child = os.fork()
if child == 0:
    part()
    os._exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
sys.deactivate_stack_trampoline()
part()
sys.exit(7)
'''


def minor(workshop: Workshop) -> int:
    return int(workshop.interpreter.version.split(".")[1])


@pytest.fixture
def with_trampolines(workshop: Workshop) -> Workshop:
    if minor(workshop) < 12:
        pytest.skip("trampolines came with CPython 3.12")
    return workshop


def is_cut(stack: Stack) -> bool:
    return any(frame.kind == "mark" and "[C stack cut: code of no known file]" in frame.name for frame in stack.frames)


def check_stacks(run: Run) -> list[Stack]:
    stacks = [stack for stack in run.collapsed() if any(frame.kind == "python" for frame in stack.frames)]
    judged = sum(stack.weight for stack in stacks)
    assert judged > 100, f"only {judged} samples"
    cut = [stack for stack in stacks if is_cut(stack)]
    share = sum(stack.weight for stack in cut) / judged
    assert share <= CUT_MAX + share_bound(CUT_MAX, judged), f"{share:.1%} of {judged} samples are cut:\n" + "\n".join(map(str, cut[:3]))
    # Neither CPython's code nor the function that calls it stands between a call and the Python frame.
    for stack in stacks:
        for frame, callee in zip(stack.frames, [*stack.frames[1:], None], strict=True):
            assert stack in cut or "[generated code]" not in frame.module, str(stack)
            assert frame.name != "py_trampoline_evaluator" or callee is None or callee.kind != "python", str(stack)
    return stacks


@pytest.mark.parametrize("option", ["perf", "perf_jit"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_stacks_are_whole(with_trampolines: Workshop, name: str, option: str) -> None:
    if option == "perf_jit" and minor(with_trampolines) < 13:
        pytest.skip("perf_jit came with CPython 3.13")
    program, text = with_trampolines.program(f"tests/programs/{name}"), (REPOSITORY / "tests/programs" / name).read_text()
    run = with_trampolines.run(program, CPU_SECONDS, flags=RATE, python_flags=("-X", option))
    assert run.exit_code == 0, run.stderr
    possible = PossibleStacks(program, text)
    faults = [(possible.faults(stack), stack) for stack in check_stacks(run) if possible.faults(stack)]
    assert not faults, "\n".join(f"{'; '.join(reasons)}\n{stack}" for reasons, stack in faults[:3])


def test_turned_on_and_off(with_trampolines: Workshop) -> None:
    program = with_trampolines.write("on_and_off.py", TURNED_ON_AND_OFF)
    # While genba compiles the interpreter's unwind rows, C stacks end early. The first run leaves them to the second (docs/limits.md).
    left = with_trampolines.run(program, "0.3", flags=RATE)
    run = with_trampolines.run(program, "0.3", flags=RATE)
    assert (left.exit_code, run.exit_code) == (7, 7), left.stderr + run.stderr
    stacks = check_stacks(run)
    called = [[frame.name for frame in stack.frames if frame.kind == "python"] for stack in stacks]
    own = [names for names in called if "work" in names]
    assert own and all(names[names.index("work") + 1 :] in ([], ["leaf"], ["negative"]) for names in own), own
    # `negative` is called by the sort, and by nobody else.
    for stack in stacks:
        names = [frame.name for frame in stack.frames]
        assert is_cut(stack) or "negative" not in names or any("sort" in name for name in names[: names.index("negative")]), str(stack)


