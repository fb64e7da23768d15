"""`genba attach` in a container whose seccomp filter forbids `ptrace`: the program is asked by `sys.remote_exec`, or genba says why not.

Owns: that filter, which is genba's alone. Never: forbids the program anything.
"""

import subprocess

from entered import on
from recording import Run, Workshop
from running_program import Program, started, until
from test_dump_refusals import forbidding

# By the numbers of x86-64.
PTRACE = 101


def attached(workshop: Workshop, program: Program, name: str) -> subprocess.CompletedProcess[str]:
    """genba runs where the program does, in the same root."""
    place = workshop.place
    command = place.command([place.genba_inside, "attach", str(program.pid), "-o", f"{place.inside}/{name}", "--duration", "500ms"])
    options = {"capture_output": True, "text": True, "timeout": 120, "preexec_fn": lambda: forbidding(PTRACE)}
    return subprocess.run(command, cwd=place.outside, env=place.environment({}), **options)


@on("3.14", "3.15")
def test_the_program_is_asked(workshop: Workshop) -> None:
    with started(workshop, workshop.program("tests/programs/attached.py")) as program:
        threads, caught, *_ = program.state()
        done = attached(workshop, program, "asked.genba")
        assert done.returncode == 0, done.stderr
        assert f"recording process {program.pid}: it was asked by sys.remote_exec, no thread was held" in done.stderr, done.stderr
        workshop.runs.append(Run(0, "", done.stderr, workshop.place.outside / "asked.genba"))
        now = lambda: (program.status("Threads"), program.status("SigCgt"), program.has_genba_thread())
        assert until(lambda: now() == (threads, caught, False)), now()
        said = program.end()
    assert said["shortest_nap_ms"] >= 200
    assert [frame.name for stack in workshop.runs[-1].collapsed("--weight", "wall") for frame in stack.frames if frame.name.endswith("squares")]


@on("3.13", "3.14-standalone")
def test_where_nobody_can_be_asked_the_reason_is_told(workshop: Workshop) -> None:
    """Before CPython 3.14, and where only ptrace gives threads a stack for signals."""
    with started(workshop, workshop.program("tests/programs/attached.py")) as program:
        before = program.state()
        done = attached(workshop, program, "refused.genba")
        words = "does not bear signals everywhere" if workshop.interpreter.has_tail_calls else "the kernel does not let genba trace it: "
        assert (done.returncode, words in done.stderr, "hint: genba doctor " in done.stderr) == (1, True, True), done.stderr
        assert not (workshop.place.outside / "refused.genba").exists() and program.state() == before
        program.recorded("after.genba", "--duration", "100ms", "--quiet")
        program.end()
