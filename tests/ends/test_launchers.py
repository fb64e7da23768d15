"""Commands that start a Python in the end: shell scripts, env, timeout, a version manager's shim; those that leave genba's variables out; and those that
never start one."""

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


REPLACED = """
import os, sys
os.environ["LD_PRELOAD"] = sys.argv[1]
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""
FILTERED = """
import os, subprocess, sys
kept = {name: os.environ[name] for name in ("PATH", "HOME")}
sys.exit(subprocess.run([sys.executable, *sys.argv[1:]], env=kept).returncode)
"""


def test_what_a_launcher_leaves_out_is_handed_on(workshop: Workshop) -> None:
    """The library that it preloads stays loaded, behind genba's."""
    python = workshop.interpreter.path
    says = workshop.write(
        "says.py",
        "import os, sys, time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: sum(range(3000))\n"
        "print(os.environ.get('LD_PRELOAD', '').split(':')[1:])\nsys.exit(7)\n",
    )
    libm = "/lib/x86_64-linux-gnu/libm.so.6"
    script = workshop.write("start.sh", f"#!/bin/sh\nexport LD_PRELOAD={libm}\nexec {python} {says}\n", mode=0o755)
    for target, preloaded in (
        ([python, workshop.write("replaced.py", REPLACED), libm, says], [libm]),
        ([script], [libm]),
        ([python, workshop.write("filtered.py", FILTERED), says], []),
        (["env", "-i", "A=1", python, says], []),
    ):
        run = workshop.run_target(target)
        assert (run.exit_code, run.stdout) == (7, f"{preloaded}\n"), run.stderr
        assert run.profile().sum("samples", lambda row: row.state in RUNNING and "<module>" in row.names()) > 0
        assert run.report_json()["not_followed"] == [], target


PIDFD_SPAWN = """
import ctypes, os, sys
def words(*texts): return (ctypes.c_char_p * (len(texts) + 1))(*map(os.fsencode, texts), None)
descriptor = ctypes.c_int()
given, environment = words(sys.executable, *sys.argv[1:]), words("PATH=" + os.environ["PATH"])
failed = ctypes.CDLL(None).pidfd_spawn(ctypes.byref(descriptor), os.fsencode(sys.executable), None, None, given, environment)
assert failed == 0, os.strerror(failed)
print(os.waitid(os.P_PIDFD, descriptor.value, os.WEXITED).si_status)
"""


def test_what_is_left_out_of_pidfd_spawn_is_handed_on(workshop: Workshop) -> None:
    """Of glibc 2.39 and later."""
    if workshop.interpreter.root is None and tuple(map(int, os.confstr("CS_GNU_LIBC_VERSION").split()[1].split("."))) < (2, 39):
        pytest.skip("this machine's glibc has no pidfd_spawn")
    says = workshop.write("burns_too.py", "import sys, time\nwhile time.process_time() < 0.3: sum(range(3000))\nsys.exit(7)\n")
    run = workshop.run(workshop.write("spawns.py", PIDFD_SPAWN), says)
    assert (run.exit_code, run.stdout) == (0, "7\n"), run.stderr
    assert len(run.profile()["processes"]) == 2 and run.report_json()["not_followed"] == [], run.stderr


BURNS = """
import sys, time
end = time.process_time() + 0.6
while time.process_time() < end: sum(range(3000))
print(time.process_time_ns())
"""


def test_a_python_that_is_not_followed_is_said(workshop: Workshop) -> None:
    """An empty environment stays empty."""
    python, burns = workshop.interpreter.path, workshop.write("burns.py", BURNS)
    text = f"import subprocess, sys\nprint(subprocess.run([sys.executable, {burns!r}, '--token=abc'], env={{}}, capture_output=True, text=True).stdout)"
    run = workshop.run(workshop.write("launches.py", text))
    assert run.exit_code == 0, run.stderr
    [row] = run.report_json()["not_followed"]
    assert (row["python"], row["count"], row["reason"]) == (True, 1, "environment emptied or filtered"), row
    # The kernel tells hundredths of a second.
    assert 0 < row["cpu_ns"] <= int(run.stdout) + 20_000_000 and row["cpu_ns"] <= row["wall_ns"] + 20_000_000, row
    assert row["command"].endswith("burns.py --token=***"), row
    assert run.report_json()["verdict"]["name"] == "not judged", run.report()
    for said in (run.stderr, *run.report_json()["warnings"][:1]):
        assert "a Python of this run was not followed" in said and "hand LD_PRELOAD and GENBA_SESSION on" in said, said
    assert run.profile()["not_followed_words"].endswith("(environment emptied or filtered)")
    none = workshop.run_target(["env", "-i", python, burns])
    assert none.exit_code == 1 and "error: no Python was recorded\n  a Python of this run was not followed" in none.stderr, none.stderr


@pytest.mark.parametrize("how", ["emptied", "env -i"])
def test_a_python_that_takes_the_place_of_a_followed_one_is_said(workshop: Workshop, how: str) -> None:
    """One process: what is in the recording is of the program before the exec."""
    burns = workshop.write("burns.py", BURNS)
    words = ["/usr/bin/env", "-i"] if how == "env -i" else []
    text = f"""
import os, sys, time
end = time.process_time() + 0.3
while time.process_time() < end: sum(range(3000))
words = [*{words!r}, sys.executable, {burns!r}]
os.execve(words[0], words, {{}})
"""
    run = workshop.run(workshop.write("replaces.py", text))
    assert run.exit_code == 0 and int(run.stdout) > 0, run.stderr
    assert len(run.profile()["processes"]) == 1
    [row] = run.report_json()["not_followed"]
    assert (row["python"], row["count"], row["reason"]) == (True, 1, "environment emptied or filtered"), row
    assert row["cpu_ns"] > 0 and row["command"].endswith("burns.py"), row
    assert "a Python of this run was not followed" in run.stderr, run.stderr
    # A program that goes on in a followed one, with a library of its own, is in the recording as a whole.
    text = text.replace(", {})", ", {**os.environ, 'LD_PRELOAD': ''})").replace("'-i'", "'A=1'")
    whole = workshop.run(workshop.write("goes_on.py", text))
    assert whole.report_json()["not_followed"] == [] and len(whole.profile()["processes"]) == 2, whole.stderr


@pytest.mark.parametrize(("script", "code"), [("exit 3", 3), ("exit 0", 1)])
def test_no_python_in_the_command(workshop: Workshop, script: str, code: int) -> None:
    run = workshop.run_target(["sh", "-c", f"sleep 0.2; {script}"])
    assert run.exit_code == code, run.stderr
    assert "error: no Python in the command" in run.stderr, run.stderr
    assert "seen in it: sh, sleep, but no CPython" in run.stderr, run.stderr


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
