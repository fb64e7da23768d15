"""Every way of starting children: each Python process is in the one recording with its own accounting (I-05: one writer a
buffer, also after a fork), and programs that are not Python are left alone."""

import json
import subprocess

import pytest

from built import PROGRAMS
from profile_tables import RUNNING, Profile
from recording import Run, Workshop, genba_said
from stalls import Stalls


SAMPLES_MIN = 100
# A process that leaves by _exit loses what was not yet written: at most the 250 ms between two blocks, and the time until a
# sampler that waits for a CPU gets it (three busy processes on one CPU, a slice of 4 ms each). What the machine itself keeps a thread waiting
# comes on top.
UNWRITTEN_NS_MAX = (250 + 3 * 4) * 1_000_000


def assert_workers(profile: Profile, workers: dict[str, list], others: set[str], stalls: Stalls) -> None:
    """Each worker's own function was sampled in its own process and nowhere else, and its clock was read to the end."""
    for pid, (function, cpu_ns) in workers.items():
        index = profile.process_of(int(pid))
        process = profile["processes"][index]
        assert process["refused"] is None, process
        samples = profile.sum(
            "samples", lambda row, i=index, f=function: row.process == i and row.state in RUNNING and f in row.names()
        )
        assert samples >= SAMPLES_MIN, (pid, function, samples)
        assert process["cpu_ns"] >= cpu_ns - UNWRITTEN_NS_MAX - stalls.worst_ns(), (cpu_ns, stalls.worst_ns(), process)
        for other in others - {function}:
            strangers = profile.sum("samples", lambda row, i=index, f=other: row.process == i and f in row.names())
            assert strangers == 0, f"{strangers} samples of {other} in process {pid} of {function}"


@pytest.mark.parametrize("leave", ["in order", "at once"])
def test_fork(workshop: Workshop, stalls: Stalls, leave: str) -> None:
    run = workshop.run(workshop.program("tests/programs/forks.py"), environment={"LEAVE": leave})
    workers = run.answer()
    profile = run.profile()
    assert len(profile["processes"]) == 3
    assert_workers(profile, workers, {function for function, _ in workers.values()}, stalls)
    parent = profile.process_of(next(int(pid) for pid, (name, _) in workers.items() if name == "work_of_parent"))
    for pid, (name, _) in workers.items():
        expected = None if name == "work_of_parent" else parent
        assert profile["processes"][profile.process_of(int(pid))]["parent"] == expected
    forks = [mark for mark in profile["marks"] if mark["kind"] == "fork"]
    assert len(forks) == 2, profile["marks"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(workshop: Workshop, stalls: Stalls, method: str) -> None:
    run = workshop.run(workshop.program("tests/programs/workers.py"), method)
    assert_workers(run.profile(), run.answer(), {"work_of_worker"}, stalls)


def test_subprocess_and_programs_that_are_not_python(workshop: Workshop, stalls: Stalls) -> None:
    run = workshop.run(workshop.program("tests/programs/starter.py"))
    answer = run.answer()
    assert answer["shell"] == ["from sh\n", ""]
    assert answer["codes"] == [7, 0, 5]
    profile = run.profile()
    assert_workers(profile, answer["workers"], {"work_of_started"}, stalls)
    assert {process["pid"] for process in profile["processes"]} == {answer["pid"], *map(int, answer["workers"])}


def test_children_left_out_when_asked(workshop: Workshop) -> None:
    run = workshop.run(workshop.program("tests/programs/starter.py"), flags=("--no-children",))
    answer = run.answer()
    assert answer["codes"] == [7, 0, 5]
    assert {process["pid"] for process in run.profile()["processes"]} == {answer["pid"]}
    # What the children did is no speed-up.
    both = workshop.run(workshop.program("tests/programs/starter.py"))
    compared = json.loads(genba_said("diff", "--format", "json", both.recording, run.recording))
    assert compared["comparable"] is False and "B was made with --no-children, A has samples of " in compared["reason"], compared["reason"]


@pytest.mark.parametrize("hooks", [(), ("hooks",)])
def test_200_forks_under_warnings_as_errors(workshop: Workshop, hooks: tuple[str, ...]) -> None:
    """Python warns of a fork in a process with threads; genba's is none of the program's."""
    program = workshop.program("tests/programs/fork_storm.py")
    # Quiet: a report may name a class of warnings that the interpreter was busy with.
    run: Run = workshop.run(program, *hooks, flags=("--quiet",), python_flags=("-W", "error"))
    assert (run.exit_code, run.stdout) == (0, "200\n"), run.stderr
    assert "Warning" not in run.stderr, run.stderr
    assert len(run.profile()["processes"]) == 201


def test_exec(workshop: Workshop) -> None:
    run = workshop.run(workshop.program("tests/programs/exec_chain.py"), "4")
    pid = run.answer()["pid"]
    processes = [index for index, process in enumerate(run.profile()["processes"]) if process["pid"] == pid]
    assert len(processes) == 5, "one process key an image"
    profile = run.profile()
    for index in processes:
        own = profile.sum("samples", lambda row, i=index: row.process == i and "work_of_image" in row.names())
        assert own > 0, f"image {index} has no sample of its own"


EXECS = """
import json, os
for _ in range(5):
    child = os.fork()
    if child == 0:
        os.execv("/bin/true", ["true"])
    os.waitpid(child, 0)
print(json.dumps(os.getpid()))
"""


def test_a_fork_that_becomes_another_program_at_once_leaves_no_trace(workshop: Workshop) -> None:
    """It is that program's process. The first look comes half a second after a start here, long after the exec."""
    run = workshop.run(workshop.write("execs.py", EXECS), flags=("--interval", "1s"))
    assert [process["pid"] for process in run.profile()["processes"]] == [run.answer()]


LISTS = ("execl", "five", "six", "long", "execlp", "execle", "execle4", "execle9")
TOLD = """#!{python}
import os, sys, time
print(sys.argv, os.environ.get("A"), "PATH" in os.environ)
while time.process_time() < 0.1: sum(range(1000))
"""


def test_a_program_that_c_starts_by_a_list_of_words(workshop: Workshop) -> None:
    """`execl` and its kind: words in registers, and more of them on the stack."""
    subprocess.run(["cc", "-O1", "-w", str(PROGRAMS / "lists.c"), "-o", "lists"], cwd=workshop.place.outside, check=True)
    told = workshop.write("told", TOLD.format(python=workshop.interpreter.path), mode=0o755)
    lists = f"{workshop.place.inside}/lists"
    script = "; ".join(f"{lists} {how} {told}" for how in LISTS)
    alone = subprocess.run(
        workshop.place.command(["sh", "-c", script]), env=workshop.place.environment({}), capture_output=True, text=True, timeout=60, cwd=workshop.place.outside
    )
    assert alone.returncode == 0 and alone.stdout.count(" 0\n") == len(LISTS) and alone.stdout.count("1 False") == 3, alone
    run = workshop.run_target(["sh", "-c", script], flags=("--quiet",))
    assert (run.exit_code, run.stdout, run.stderr) == (0, alone.stdout, "")
    assert len(run.profile()["processes"]) == len(LISTS)
