"""No impossible stacks: programs alternate two equal call paths; of thousands of samples each, none may be one that cannot
have happened (I-01: nothing is made up; I-08: tables change while handlers read them; I-09: a function's name is the one it had then; I-11: the merge).

The programs say in their own comments what can happen; stacks.py judges. Python and C are merged in every stack.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from big_frames import program_text
from recording import REPOSITORY, Run, Workshop
from soak import SOAK
from stacks import PossibleStacks, Stack

# None impossible of N samples says that fewer than 3 / N are (at 95 %): of some 80,000 on each CPython 4 in 100,000, of those on all of
# them 6 in a million. Three times as long would find what is a third as frequent, and take two hours.
CPU_SECONDS = "10" if SOAK else "0.8"
RATE = ("--rate", "10000")
# A sixteenth of what an idle machine gives: others may want the CPU, and some programs spend most of it elsewhere.
SAMPLES_MIN = 6_250 if SOAK else 500
PLAIN = (
    "flat.py",
    "nested.py",
    "shared_leaf.py",
    "generators.py",
    "deep.py",
    "sort_in_sub.py",
    "operators.py",
    "coroutines.py",
)


def assert_possible(run: Run, program: str, text: str) -> None:
    """`program` is the file's path as the interpreter saw it."""
    assert run.exit_code == 0, run.stderr
    possible = PossibleStacks(program, text)
    stacks = run.collapsed()
    judged = sum(stack.weight for stack in stacks if possible.judged(stack))
    faults = [(stack, possible.faults(stack)) for stack in stacks]
    assert_none([(stack, reasons) for stack, reasons in faults if reasons], judged)


def assert_none(faults: list[tuple[Stack, list[str]]], judged: int) -> None:
    count = sum(stack.weight for stack, _ in faults)
    shown = "\n".join(f"{stack.weight} × {'; '.join(reasons)}\n{stack}" for stack, reasons in faults[:3])
    assert count == 0, f"{count} of {judged} samples cannot have happened:\n{shown}"
    assert judged >= SAMPLES_MIN, f"only {judged} samples of the program's own code"


@pytest.mark.measures
@pytest.mark.parametrize("name", PLAIN)
def test_plain(workshop: Workshop, name: str) -> None:
    text = (REPOSITORY / "tests/programs" / name).read_text()
    program = workshop.program(f"tests/programs/{name}")
    assert_possible(workshop.run(program, CPU_SECONDS, flags=RATE), program, text)


@pytest.mark.measures
def test_without_native_frames(workshop: Workshop) -> None:
    name = "nested.py"
    text = (REPOSITORY / "tests/programs" / name).read_text()
    program = workshop.program(f"tests/programs/{name}")
    run = workshop.run(program, CPU_SECONDS, flags=(*RATE, "--no-native"))
    assert_possible(run, program, text)
    kinds = {frame["kind"] for frame in run.profile()["frames"]}
    assert kinds <= {"python", "mark"}, kinds


@pytest.mark.measures
def test_frames_with_1800_locals(workshop: Workshop) -> None:
    program = workshop.write("big.py", program_text())
    assert_possible(workshop.run(program, CPU_SECONDS, flags=RATE), program, program_text())


@pytest.mark.measures
def test_called_back_by_an_extension(workshop: Workshop, bounce: Path) -> None:
    folder = str(Path(workshop.take(bounce)).parent)
    program = workshop.program("tests/programs/bounced.py")
    text = (REPOSITORY / "tests/programs/bounced.py").read_text()
    assert_possible(workshop.run(program, CPU_SECONDS, folder, flags=RATE), program, text)


@pytest.mark.measures
def test_libraries_that_come_and_go(workshop: Workshop, spin: Path) -> None:
    """The tables of native code are replaced many times a second while handlers walk by them (I-08)."""
    program = workshop.program("tests/programs/loads.py")
    text = (REPOSITORY / "tests/programs/loads.py").read_text()
    run = workshop.run(program, CPU_SECONDS, workshop.take(spin), flags=RATE)
    assert_possible(run, program, text)
    spun = [row for row in run.profile().rows() if "errno_changes" in row.names()]
    assert spun and all("via_b" in row.names() for row in spun)


# A function lives for a third of a millisecond: a sample meets a new one nearly each time, and where others want the CPU there are no
# more than some 500 samples of functions in a second.
CHURN_CPU_SECONDS = "10" if SOAK else "4"
CHURNED = re.compile(r"<churn_(\d+)>")


def churn_faults(stack: Stack) -> list[str]:
    """Number N lives in <churn_N>, begins at line N % 50 + 1; outer_N calls inner_N; one number a stack."""
    frames = [frame for frame in stack.frames if frame.kind == "python"]
    churned = [frame for frame in frames if frame.name.startswith(("outer_", "inner_")) or CHURNED.fullmatch(frame.file)]
    faults = []
    for frame in churned:
        number = re.fullmatch(r"(?:outer|inner)_(\d+)", frame.name)
        file = CHURNED.fullmatch(frame.file)
        if frame.name == "<module>" and file:
            continue
        if not number or not file or number[1] != file[1]:
            faults.append(f"{frame.name} is not in {frame.file}")
            continue
        first = int(number[1]) % 50 + 1
        lines = range(first, first + 2) if frame.name.startswith("outer") else range(first + 3, first + 8)
        if frame.line not in lines:
            faults.append(f"line {frame.line} is not in {frame.name}, which begins at {lines[0]}")
    numbers = {CHURNED.fullmatch(frame.file)[1] for frame in churned if CHURNED.fullmatch(frame.file)}
    if len(numbers) > 1:
        faults.append(f"functions of numbers {sorted(numbers)} in one stack")
    names = [frame.name.partition("_")[0] for frame in churned]
    if names not in ([], ["<module>"], ["outer"], ["outer", "inner"]):
        faults.append(f"{names} is no chain of calls")
    return faults


@pytest.mark.measures
def test_functions_at_reused_addresses(workshop: Workshop) -> None:
    run = workshop.run(workshop.program("tests/programs/churn.py"), CHURN_CPU_SECONDS, flags=RATE)
    assert run.exit_code == 0, run.stderr
    stacks = run.collapsed()
    faults = [(stack, churn_faults(stack)) for stack in stacks]
    judged = [stack for stack in stacks if any(CHURNED.fullmatch(frame.file) for frame in stack.frames)]
    assert_none([(stack, reasons) for stack, reasons in faults if reasons], sum(stack.weight for stack in judged))
    names = Counter(frame.name for stack in judged for frame in stack.frames if frame.name.startswith("inner_"))
    assert len(names) > 500, f"only {len(names)} different functions were met"


def test_the_churn_judge() -> None:
    from stacks import parse_stack

    good = "live (churn.py:24);outer_103 (<churn_103>:5);inner_103 (<churn_103>:9) 1"
    assert churn_faults(parse_stack(good)) == []
    for old, new in [
        ("outer_103 (<churn_103>:5)", "outer_53 (<churn_103>:5)"),
        ("outer_103 (<churn_103>:5)", "outer_53 (<churn_53>:5)"),
        ("<churn_103>:9", "<churn_103>:15"),
        ("outer_103 (<churn_103>:5);", ""),
    ]:
        assert churn_faults(parse_stack(good.replace(old, new))) != [], new
