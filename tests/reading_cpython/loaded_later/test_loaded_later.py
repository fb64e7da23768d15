"""Programs that load an interpreter after their start: a plugin of a server, an embedding, a packed program."""

import os
import subprocess
from pathlib import Path

import pytest

import interpreters
from built import PROGRAMS
from recording import Workshop

PROGRAM = """
import sys, threading, time
import {extension}

def in_a_thread():
    while time.thread_time() < 0.2: sum(range(1000))

def spins():
    while time.thread_time() < 0.5: sum(range(1000))

thread = threading.Thread(target=in_a_thread)
thread.start(); spins(); thread.join()
print(1, flush=True)
"""


@pytest.fixture(scope="session")
def embeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("embeds") / "embeds"
    subprocess.run(["cc", "-O1", "-w", str(PROGRAMS / "embeds.c"), "-o", str(made), "-ldl", "-lpthread"], check=True)
    return made


def libpython(workshop: Workshop) -> str:
    """Where the program finds it."""
    interpreter = workshop.interpreter
    name = f"libpython{interpreter.minor}.so.1.0"
    if interpreter.root is not None:
        return f"/usr/lib/x86_64-linux-gnu/{name}"
    library = Path(interpreter.path).resolve().parents[1] / "lib" / name
    if not library.exists():
        pytest.skip(f"this CPython has no {name}")
    return str(library)


@pytest.mark.parametrize("scope", ["global", "local", "leaves", "second"])
def test_it_is_recorded_from_then_on(workshop: Workshop, embeds: Path, scope: str) -> None:
    """Also where only one library sees it, where the process ends with its last thread, which genba's must not keep alive, and where no code runs in
    the first interpreter."""
    home = str(Path(workshop.interpreter.path).parents[1]) if workshop.interpreter.root is None else "/usr"
    # An extension module of a libpython that nobody else sees finds no symbols of it: a built-in one must do there.
    program = PROGRAM.format(extension="errno" if scope == "local" else "_json")
    if scope == "second":
        # No other thread's frames show genba that it reads this interpreter right, before those of the first thread are needed.
        program = program.replace("thread.start(); spins();", "spins(); thread.start();")
    run = workshop.run_target([workshop.take(embeds), libpython(workshop), scope, program], environment={"PYTHONHOME": home})
    assert (run.exit_code, run.stdout.strip()) == (0, "1"), run.stderr
    run.check_laws()
    profile = run.profile()
    [process] = profile["processes"]
    if process["refused"]:
        # Its threads would need alternate stacks before the first signal.
        assert "BOLT" in process["refused"] and "genba attach" in process["refused"], process
        assert "BOLT" in run.stderr
        return
    assert process["python"].startswith(workshop.interpreter.minor)
    # What came before is the program's, and in no sample.
    assert process["cpu_before_ns"] >= 95_000_000, process
    report = run.report()
    assert "spins" in report and "in_a_thread" in report, report


LOST = """
import fcntl, os

def is_open(number):
    try: fcntl.fcntl(number, fcntl.F_GETFD)
    except OSError: return False
    return True

try: os.open({recording!r}, os.O_WRONLY)
except PermissionError: pass
else: raise SystemExit("the recording can still be opened")
"""


@pytest.mark.parametrize("when", ["becomes", "asks"])
def test_it_has_lost_the_way_to_its_recording(workshop: Workshop, embeds: Path, when: str) -> None:
    """A process that becomes another user when the interpreter is loaded, and has not begun: no thread of genba's is there that could have opened
    the recording. `asks`: one is about to begin. The program's table of descriptors is what it was once the recording has begun."""
    if os.geteuid() != 0:
        pytest.skip("only root can change the user")
    home = str(Path(workshop.interpreter.path).parents[1]) if workshop.interpreter.root is None else "/usr"
    # The recording is root's, mode 0600.
    lost = LOST.format(recording=f"{workshop.place.inside}/recording-0.genba")
    # genba's numbers lie from 400 on (files_over_fork.rs).
    program = lost + PROGRAM.format(extension="_json").replace("print(1,", "print([number for number in range(400, 1024) if is_open(number)],")
    run = workshop.run_target([workshop.take(embeds), libpython(workshop), when, program], environment={"PYTHONHOME": home})
    if run.exit_code == 5:
        pytest.skip("this root may not read the files of all others (CAP_DAC_READ_SEARCH)")
    assert (run.exit_code, run.stdout.strip()) == (0, "[]"), run.stderr
    run.check_laws()
    assert "recording out of reach" not in {row["reason"] for row in run.report_json()["not_followed"]}
    [process] = run.profile()["processes"]
    if process["refused"]:
        # As in the test above. The block that says so is in the recording, too.
        assert "BOLT" in process["refused"], process
        return
    report = run.report()
    assert "spins" in report and "in_a_thread" in report, report


def test_few_descriptors_leave_it_no_room(workshop: Workshop, embeds: Path) -> None:
    """Where the limit allows no number from 400 on, no lower one is taken: the process is counted once, and runs as without genba. The same holds
    for one that genba refuses, as it does BOLT's builds. In a network of its own it cannot ask genba for the recording."""
    if os.geteuid() != 0:
        pytest.skip("only root can change the user")
    home = str(Path(workshop.interpreter.path).parents[1]) if workshop.interpreter.root is None else "/usr"
    program = PROGRAM.format(extension="_json")
    target = ["unshare", "--net", "sh", "-c", 'ulimit -n 64; exec "$@"', "sh", workshop.take(embeds), libpython(workshop), "becomes", program]
    run = workshop.run_target(target, environment={"PYTHONHOME": home})
    if run.exit_code == 5:
        pytest.skip("this root may not read the files of all others (CAP_DAC_READ_SEARCH)")
    assert run.stdout.strip() == "1", run.stderr
    assert "/embeds (recording out of reach)" in run.stderr and "out of reach) ×" not in run.stderr, run.stderr


def test_a_fifo_has_the_recording_s_name(workshop: Workshop, embeds: Path) -> None:
    """The thread that becomes another user opens the recording before that: it does not wait for a reader. In a network of its own it cannot ask genba
    for the recording."""
    if os.geteuid() != 0:
        pytest.skip("only root can change the user")
    home = str(Path(workshop.interpreter.path).parents[1]) if workshop.interpreter.root is None else "/usr"
    recording = f"{workshop.place.inside}/recording-0.genba"
    program = PROGRAM.format(extension="_json")
    target = ["unshare", "--net", "sh", "-c", 'rm "$0"; mkfifo "$0"; exec "$@"', recording, workshop.take(embeds), libpython(workshop), "becomes", program]
    run = workshop.run_target(target, environment={"PYTHONHOME": home})
    if run.exit_code == 5:
        pytest.skip("this root may not read the files of all others (CAP_DAC_READ_SEARCH)")
    assert run.stdout.strip() == "1", run.stderr
    assert "was removed while the program ran, before anything was written into it" in run.stderr, run.stderr


def test_a_fork_while_the_recording_begins(workshop: Workshop, embeds: Path) -> None:
    home = str(Path(workshop.interpreter.path).parents[1]) if workshop.interpreter.root is None else "/usr"
    program = PROGRAM.format(extension="_json").replace("print(1,", "print(hasattr(_json, '__file__'),")
    run = workshop.run_target([workshop.take(embeds), libpython(workshop), "forks", program], environment={"PYTHONHOME": home})
    is_file = run.stdout.split()
    assert run.exit_code == 0 and is_file in (["True"] * 2, ["False"] * 2), run.stderr
    processes = run.profile()["processes"]
    # The child asks the linker again only for an extension module that is a file (docs/limits.md).
    assert len(processes) in ((2,) if is_file[0] == "True" else (1, 2)), processes


def test_one_that_genba_does_not_know(workshop: Workshop, embeds: Path) -> None:
    if workshop.interpreter.root is not None:
        pytest.skip("the Debian sid folder has no CPython 3.10")
    older = next(iter(interpreters.pyenv_candidates("3.10")), None)
    library = older and Path(older).parents[1] / "lib/libpython3.10.so.1.0"
    if library is None or not library.exists():
        pytest.skip("no libpython of CPython 3.10 in pyenv")
    run = workshop.run_target([workshop.take(embeds), str(library), "global", "print(1)"], environment={"PYTHONHOME": str(library.parents[1])})
    assert (run.exit_code, run.stdout.strip()) == (0, "1"), run.stderr
    assert "older than CPython 3.11" in run.stderr
