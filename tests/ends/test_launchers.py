"""Commands that start a Python in the end: shell scripts, env, timeout, a version manager's shim; and those that never do."""

import os
from pathlib import Path

import pytest

import interpreters
from profile_tables import RUNNING
from recording import Run, Workshop

PROGRAM = "tests/programs/flat.py"


def assert_recorded(run: Run) -> None:
    assert run.exit_code == 0, run.stderr
    profile = run.profile()
    assert len(profile["processes"]) == 1, profile["processes"]
    assert profile.sum("samples", lambda row: row.state in RUNNING and "work_a" in row.names()) > 0


def test_env_and_timeout(workshop: Workshop) -> None:
    python = workshop.interpreter.path
    assert_recorded(workshop.run_target(["env", "A=b", "timeout", "60", python, workshop.program(PROGRAM), "0.3"]))


def test_a_shell_script(workshop: Workshop) -> None:
    python, program = workshop.interpreter.path, workshop.program(PROGRAM)
    replaced = workshop.write("replaced.sh", f"#!/bin/sh\nexec {python} {program} 0.3\n", mode=0o755)
    assert_recorded(workshop.run_target([replaced]))
    waited = workshop.write("waited.sh", f"#!/bin/sh\n{python} {program} 0.3\n", mode=0o755)
    assert_recorded(workshop.run_target([waited]))


def test_a_pyenv_shim(workshop: Workshop) -> None:
    if workshop.interpreter.root is not None:
        pytest.skip("the shims lie outside of the Debian sid")
    folder = interpreters.pyenv_versions().parent
    shim = folder / "shims/python3"
    if not shim.exists() or folder not in Path(workshop.interpreter.path).parents:
        pytest.skip("no pyenv shim for this interpreter")
    environment = {"PYENV_VERSION": workshop.interpreter.version, "PYENV_ROOT": str(folder), "PATH": os.environ["PATH"]}
    run = workshop.run_target([str(shim), workshop.program(PROGRAM), "0.3"], environment=environment)
    assert run.exit_code == 0, run.stderr
    profile = run.profile()
    assert {process["python"] for process in profile["processes"]} == {workshop.interpreter.version}
    assert profile.sum("samples", lambda row: row.state in RUNNING and "work_a" in row.names()) > 0


@pytest.mark.parametrize(("script", "code"), [("exit 3", 3), ("exit 0", 1)])
def test_no_python_in_the_command(workshop: Workshop, script: str, code: int) -> None:
    run = workshop.run_target(["sh", "-c", script])
    assert run.exit_code == code, run.stderr
    assert "error: no Python in the command" in run.stderr, run.stderr


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("import sys; sys.exit(7)", 7, ""),
        ("raise RuntimeError('on purpose')", 1, "RuntimeError: on purpose"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143, ""),
        ("import sys; print(sys.stdin.read(), end='')", 0, ""),
    ],
)
def test_the_program_s_own_end(workshop: Workshop, text: str, code: int, words: str) -> None:
    process = workshop.start(
        [workshop.interpreter.path, "-c", text], ["-o", f"{workshop.place.inside}/end.genba"], {}, stdin=-1
    )
    process.stdin.write("from outside\n")
    run = workshop.finish(process, "end.genba")
    assert run.exit_code == code, run.stderr
    assert words in run.stderr
    assert run.stdout == ("from outside\n" if code == 0 else "")
