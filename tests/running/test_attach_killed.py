"""`genba attach` that is killed with -9 while it enters: the program goes on as if nobody had come, and the next one enters."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from recording import Workshop, binary
from running_program import Program, started, until
from soak import SOAK

pytestmark = pytest.mark.measures

KILLS = 200 if SOAK else 12
STEPS = ("ptrace", "pwrite64", "process_vm_readv", "waitid", "openat") if SOAK else ("ptrace", "pwrite64")
STEPS_MAX = 400 if SOAK else 60


def test_killed_at_any_moment_of_the_entry(workshop: Workshop) -> None:
    """Whatever genba is at: the program goes on, and the next one enters."""
    chance = random.Random(7)
    with started(workshop, workshop.program("tests/programs/attached.py")) as program:
        before = program.state()
        environment = {**os.environ, **workshop.place.environment({})}
        for number in range(KILLS):
            command = [str(binary()), "attach", str(program.pid), "-o", str(workshop.place.outside / f"killed-{number}.genba")]
            with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment) as genba:
                time.sleep(chance.uniform(0, 0.06))
                genba.kill()
        assert until(lambda: program.state() == before), (program.state(), before)
        program.recorded("after.genba", "--duration", "200ms", "--quiet")
        said = program.end()
    assert said["shortest_nap_ms"] >= 200


def test_killed_at_each_step_of_the_entry(workshop: Workshop) -> None:
    """At each system call by which genba stops, reads, changes and lets go the program: strace kills it as it makes its first, its second, …"""
    with started(workshop, workshop.program("tests/programs/attached.py")) as program:
        before = program.state()
        environment = {**os.environ, **workshop.place.environment({})}
        steps = {}
        for call in STEPS:
            for number in range(1, STEPS_MAX):
                attach = [str(binary()), "attach", str(program.pid), "--force", "-o", str(workshop.place.outside / "killed.genba"), "--duration", "50ms"]
                strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}"]
                done = subprocess.run([*strace, *attach], env=environment, capture_output=True, text=True, timeout=60)
                if done.stderr.startswith("strace: "):
                    # Its own fault, and it left genba alone, which ends by itself.
                    assert until(lambda: not program.has_genba_thread())
                    done = subprocess.run([*strace, *attach], env=environment, capture_output=True, text=True, timeout=60)
                assert program.process.poll() is None, (call, number)
                if done.returncode == 0:
                    break
                assert done.returncode == -signal.SIGKILL, (call, number, done.stderr)
                steps[call] = number
            assert until(lambda: program.state() == before), (call, program.state(), before)
        # Each thread is held, asked where it is, and let go.
        assert steps["ptrace"] >= 3 * program.status("Threads"), steps
        program.recorded("after.genba", "--duration", "200ms", "--quiet")
        said = program.end()
    assert said["shortest_nap_ms"] >= 200


def test_ctrl_z_waits_until_no_thread_is_held(workshop: Workshop) -> None:
    """genba stops when it has let go of all, and the program runs meanwhile."""
    with started(workshop, workshop.program("tests/programs/attached.py")) as program:
        stopped_as_it_holds(workshop, program, "attach", str(program.pid), "-o", str(workshop.place.outside / "stopped.genba"), "--duration", "50ms", "--quiet")
        said = program.end()
    assert said["shortest_nap_ms"] >= 200


def test_ctrl_z_waits_until_a_dump_holds_no_thread(workshop: Workshop) -> None:
    """Of a thread that runs, and so is held."""
    with started(workshop, workshop.write("spins.py", "print('ready', flush=True)\nwhile True: pass\n")) as program:
        stopped_as_it_holds(workshop, program, "dump", str(program.pid))
        assert program.process.poll() is None


@pytest.mark.parametrize("then", [signal.SIGCONT, signal.SIGKILL])
def test_genba_is_stopped_while_it_holds_threads(workshop: Workshop, then: int) -> None:
    """By SIGSTOP, which cannot wait: they are held until genba goes on or is killed (docs/limits.md), and go on unharmed."""
    with started(workshop, workshop.program("tests/programs/attached.py")) as program:
        before = program.state()
        seen, stopped = workshop.place.outside / "strace.txt", 0
        first_interrupt = program.status("Threads") + 1
        strace = ["strace", "-f", "-qq", "-o", str(seen), "-e", "trace=ptrace", "-e", f"inject=ptrace:signal=STOP:when={first_interrupt}"]
        attach = [str(binary()), "attach", str(program.pid), "-o", str(workshop.place.outside / "stopped.genba"), "--duration", "50ms", "--quiet"]
        with subprocess.Popen([*strace, *attach], env={**os.environ, **workshop.place.environment({})}) as tracing:
            children = Path(f"/proc/{tracing.pid}/task/{tracing.pid}/children")
            try:
                while tracing.poll() is None:
                    stops = seen.read_text().count("stopped by SIGSTOP") if seen.exists() else 0
                    if stops > stopped:
                        # Each of genba's threads has a line; the later ones may come when it goes on already.
                        assert stopped or until(lambda: held(program.pid))
                        stopped = stops
                        for child in children.read_text().split():
                            os.kill(int(child), then)
                    time.sleep(0.01)
            finally:
                for child in children.read_text().split() if tracing.poll() is None else []:
                    os.kill(int(child), signal.SIGKILL)
        assert (tracing.returncode, stopped > 0) == (0 if then == signal.SIGCONT else -then, True)
        assert until(lambda: program.state() == before), (program.state(), before)
        program.recorded("after.genba", "--duration", "200ms", "--quiet")
        said = program.end()
    assert said["shortest_nap_ms"] >= 200


def stopped_as_it_holds(workshop: Workshop, program: Program, *words: str) -> None:
    """strace sends Ctrl-Z as genba asks the first thread to stop: the tracer seizes each thread before, and strace counts its calls alone."""
    seen, stopped = workshop.place.outside / "strace.txt", 0
    first_interrupt = program.status("Threads") + 1
    strace = ["strace", "-f", "-qq", "-o", str(seen), "-e", "trace=ptrace", "-e", f"inject=ptrace:signal=TSTP:when={first_interrupt}"]
    environment = {**os.environ, **workshop.place.environment({})}
    # In a group of its own, whose parent is in another one: else the kernel takes Ctrl-Z for nobody's.
    with subprocess.Popen([*strace, str(binary()), *words], env=environment, process_group=0, stdout=subprocess.DEVNULL) as tracing:
        children = Path(f"/proc/{tracing.pid}/task/{tracing.pid}/children")
        try:
            while tracing.poll() is None:
                stops = seen.read_text().count("stopped by SIGTSTP") if seen.exists() else 0
                if stops > stopped:
                    stopped = stops
                    assert until(lambda: not held(program.pid)), "genba is stopped, and the program with it"
                    for child in children.read_text().split():
                        os.kill(int(child), signal.SIGCONT)
                time.sleep(0.01)
        finally:
            for child in children.read_text().split() if tracing.poll() is None else []:
                os.kill(int(child), signal.SIGKILL)
    assert (tracing.returncode, stopped > 0) == (0, True)


def held(pid: int) -> list[str]:
    """Its threads in a tracer's stop."""
    return [task.name for task in Path(f"/proc/{pid}/task").iterdir() if "State:\tt" in status_of(task)]


def status_of(task: Path) -> str:
    """Nothing of a thread that has ended since it was listed."""
    try:
        return (task / "status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
