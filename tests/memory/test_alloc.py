"""`genba run --alloc`: bytes that CPython's allocator and malloc were asked for, by expression, in every view."""

import json
import subprocess
from pathlib import Path

import pytest

from interpreters import Interpreter
from recording import Run, Workshop, genba

# The interpreter asks for something before its program begins, and the program beside its work.
BESIDE_MAX = 60_000_000
ONE = "3.13"
# Where the sampler gets no CPU for most of a run, the run says nothing: it is made again.
TRIES = 3
IN_SAMPLES_MIN = 0.5


@pytest.fixture(autouse=True)
def compiled_before(workshop: Workshop) -> None:
    """A Python that nobody has used yet compiles the modules that the program imports, which asks for more than the bound allows."""
    place = workshop.place
    command = place.command([workshop.interpreter.path, "-c", "import ctypes, json, os, signal, subprocess, threading, itertools, pathlib"])
    subprocess.run(command, cwd=place.outside, env=place.environment({}), check=True)


def run(workshop: Workshop, kind: str, *, tries: int = TRIES, **options) -> tuple[Run, int]:
    for _ in range(tries):
        made = workshop.run(workshop.program("tests/programs/allocations.py"), kind, flags=("--alloc",), **options)
        if tries == 1 or sampled_part(made) >= IN_SAMPLES_MIN:
            break
    return made, made.answer()["bytes"]


def row_of(made: Run, function: str) -> dict:
    rows = made.report_json("--weight", "allocated", "--by", "function")["rows"]
    nothing = {"allocated_bytes": 0, "allocated_margin_bytes": 0, "chain": []}
    return next((row for row in rows if row["function"] == function), nothing)


def in_samples(made: Run) -> float:
    """The part of all bytes that is in samples. Where the sampler gets no CPU for a while, buffers run out, and the rest is told as in none."""
    part = sampled_part(made)
    assert part >= IN_SAMPLES_MIN, f"{part} in each of {TRIES} runs"
    return part


def sampled_part(made: Run) -> float:
    return sum(made.profile()["samples"]["allocated_bytes"]) / allocated(made)


def allocated(made: Run) -> int:
    return made.report_json("--weight", "allocated")["allocated_bytes"]


def beside_max(made: Run) -> int:
    """With what the program asks for until genba counts, which on a busy machine is long."""
    return BESIDE_MAX + row_of(made, "waits_for_genba")["allocated_bytes"]


def agrees(row: dict, known: float, lost: float = 0) -> bool:
    """Within five standard deviations of what the row itself says, which is what a right estimate leaves once in a million times, and 2 %
    for what a function asks for beside the known. Up to `lost` less: bytes in no sample, of which nothing says whose they were."""
    slack = row["allocated_margin_bytes"] / 1.96 * 5 + 0.02 * known
    return -slack - lost <= row["allocated_bytes"] - known <= slack


@pytest.mark.parametrize("kind", ["small", "large", "huge", "family"])
def test_what_a_function_asks_for(workshop: Workshop, kind: str) -> None:
    made, known = run(workshop, kind)
    assert known <= allocated(made) <= known + beside_max(made), "the count misses nothing, and has nothing twice"
    assert agrees(row_of(made, f"of_{kind}"), known * in_samples(made)), row_of(made, f"of_{kind}")


def test_a_list_that_grows(workshop: Workshop) -> None:
    """By realloc, first in CPython's allocator and then in malloc."""
    made, known = run(workshop, "grown")
    assert agrees(row_of(made, "grow"), known * in_samples(made)), (row_of(made, "grow"), known)


def test_two_lines_of_three_allocators(workshop: Workshop) -> None:
    made, known = run(workshop, "mixed")
    # Not a like part of each line: the sampler had no CPU for a while of the program's run.
    lost = known * (1 - in_samples(made))
    rows = made.report_json("--weight", "allocated")["rows"]
    by_text = {row["expression"]: row for row in rows if row["function"] == "of_mixed"}
    for text in ("bytes(SMALL)", "bytes(LARGE)", "bytes(LARGE + 0)"):
        assert agrees(by_text[text], known / 3, lost), (text, by_text[text], known)


def test_what_free_lists_serve_is_not_counted(workshop: Workshop, python: Interpreter) -> None:
    if python.name != ONE:
        pytest.skip("the same for all versions")
    made, _ = run(workshop, "elsewhere", tries=1)
    assert allocated(made) <= beside_max(made)


@pytest.mark.parametrize("kind", ["threads", "handlers"])
def test_threads_and_handlers(workshop: Workshop, kind: str) -> None:
    made, known = run(workshop, kind)
    assert known <= allocated(made) <= known + beside_max(made), "of threads that ended, too"
    rows = [row_of(made, name) for name in ("of_small", "of_large")]
    both = {figure: sum(row[figure] for row in rows) for figure in ("allocated_bytes", "allocated_margin_bytes")}
    assert agrees(both, known * in_samples(made)), rows


def test_interpreters_inside_the_process(workshop: Workshop, python: Interpreter) -> None:
    if python.name != ONE:
        pytest.skip("with two such threads 3.11 does not end, with or without genba")
    made, known = run(workshop, "interpreters")
    assert known <= allocated(made) <= known + beside_max(made)
    assert agrees(row_of(made, "of_inside"), known * in_samples(made)), row_of(made, "of_inside")


def test_a_forked_child_counts_for_itself(workshop: Workshop) -> None:
    made, known = run(workshop, "forks", tries=1)
    assert known <= allocated(made) <= known + 3 * BESIDE_MAX + beside_max(made)
    row = row_of(made, "of_large")
    # What a child asks for before its own sampler begins is in no sample: less than is known, and more by five standard deviations at most.
    assert 0 < row["allocated_bytes"] <= 1.001 * known + row["allocated_margin_bytes"] / 1.96 * 5, row
    assert made.check().stdout.count("  allocated: ") == 4


@pytest.mark.parametrize("kind", ["small", "large"])
def test_malloc_for_everything(workshop: Workshop, kind: str) -> None:
    """With PYTHONMALLOC=malloc no object passes CPython's own allocator: the numbers are the same."""
    made, known = run(workshop, kind, environment={"PYTHONMALLOC": "malloc"})
    assert known <= allocated(made) <= known + beside_max(made)
    assert agrees(row_of(made, f"of_{kind}"), known * in_samples(made))


def test_other_allocators_of_cpython_are_refused(workshop: Workshop, python: Interpreter) -> None:
    if python.name != ONE:
        pytest.skip("the same for all versions")
    program = workshop.program("tests/programs/allocations.py")
    refused = workshop.run(program, "small", flags=("--alloc",), environment={"PYTHONMALLOC": "debug"})
    assert refused.exit_code == 2, refused.stderr
    assert "--alloc cannot count what PYTHONMALLOC=debug serves" in refused.stderr and "hint: " in refused.stderr
    workshop.runs.clear()
    # The same by another way is told, and what comes to malloc is counted.
    made, known = run(workshop, "large", python_flags=("-X", "dev"))
    assert "small objects are not counted" in made.stderr, made.stderr
    assert allocated(made) >= known


@pytest.mark.parametrize("library", ["libjemalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_beside_another_malloc(workshop: Workshop, python: Interpreter, library: str) -> None:
    if python.root is not None:
        pytest.skip("the library is the machine's, not the chroot's")
    found = Path("/usr/lib/x86_64-linux-gnu") / library
    if not found.exists():
        pytest.skip(f"no {library} on this machine")
    for kind in ("large", "family"):
        made, known = run(workshop, kind, environment={"LD_PRELOAD": str(found)})
        assert known <= allocated(made) <= known + beside_max(made)
        assert agrees(row_of(made, f"of_{kind}"), known * in_samples(made))


def test_every_view_has_the_weight(workshop: Workshop) -> None:
    made, known = run(workshop, "large")
    seen = in_samples(made)
    tree = json.loads(made.tree("--weight", "allocated", "--format", "json"))
    assert tree["allocated_bytes"] >= 0.98 * known * seen
    in_function = sum(branch["total_allocated_bytes"] for branch in tree["branches"] if branch["name"] == "of_large")
    assert in_function >= 0.9 * known * seen
    lines = genba("lines", made.recording, "--weight", "allocated")
    assert lines.returncode == 0 and "bytes(LARGE)" in lines.stdout, lines.stderr
    stacks = made.collapsed_text("--weight", "allocated")
    assert sum(int(line.rsplit(" ", 1)[1]) for line in stacks.splitlines()) >= 0.98 * known * seen
    text = made.report("--weight", "allocated")
    assert "memory requested" in text and " ± " in text, "what is not seen is said, and how sure a number is"
    said = next(line for line in made.stderr.splitlines() if "allocations: " in line)
    assert "bytes(LARGE)" in said and "each time" in said, said
    page = made.report_json("--weight", "allocated")
    [place] = page["verdict"]["allocations"]
    assert place["share"] == pytest.approx(place["bytes"] / page["allocated_bytes"]) and place["margin_bytes"] >= 0
    assert place["expression"] == "bytes(LARGE)" and abs(place["bytes"] / place["allocations"] / 10_033 - 1) < 0.05
    counted = next(line for line in made.check().stdout.splitlines() if "  allocated: " in line)
    assert " = sampled " in counted and " + not sampled " in counted


def test_with_copies_both_are_told(workshop: Workshop, python: Interpreter) -> None:
    if python.name != ONE:
        pytest.skip("the same for all versions")
    made = workshop.run(workshop.program("tests/programs/allocations.py"), "large", flags=("--alloc", "--copies"))
    page = made.report_json("--weight", "allocated")
    assert page["allocated_bytes"] >= made.answer()["bytes"] and page["copied_bytes"] > 0


def test_without_the_option_the_weight_is_refused(workshop: Workshop, python: Interpreter) -> None:
    if python.name != ONE:
        pytest.skip("the same for all versions")
    made = workshop.run(workshop.program("tests/programs/allocations.py"), "elsewhere")
    refused = genba("report", made.recording, "--weight", "allocated")
    assert refused.returncode == 1
    assert "hint: record anew: genba run --alloc" in refused.stderr
    assert "allocated_bytes" not in made.report("--format", "json")
    refused = genba("attach", "1", "--alloc")
    assert refused.returncode == 2 and "hint: start the program with it: genba run --alloc" in refused.stderr


# Too few allocations for a window of samples, and nothing of the process can end it later.
EARLY = """
import os, signal, sys
def early():
    for _ in range(40): bytearray(5_000_000)
"""
ENDS = {
    "exec": 'early()\nos.execv(sys.executable, [sys.executable, "-c", "pass"])\n',
    "killed": "read, write = os.pipe()\nchild = os.fork()\nif child == 0:\n    early()\n    os.write(write, b'x')\n    signal.pause()\n"
    "os.read(read, 1)\nos.kill(child, signal.SIGKILL)\nos.wait()\n",
}


@pytest.mark.parametrize("end", ENDS)
def test_what_was_asked_for_before_an_end_without_a_word_is_in_samples(workshop: Workshop, end: str) -> None:
    for _ in range(TRIES):
        made = workshop.run(workshop.write("early.py", EARLY + ENDS[end]), flags=("--alloc",))
        early = row_of(made, "early")["allocated_bytes"]
        if early >= 200_000_000 * IN_SAMPLES_MIN:
            return
    raise AssertionError(early)
