"""Ctrl-Z under a shell with job control, and signals that were ignored when genba started: as without genba."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from built import PROGRAMS
from recording import Workshop

CTRL_Z = b"\x1a"
# The program writes to genba's stdout; what the shell sees of its job is on stderr.
WORK = "def work():\n    until = time.process_time() + 0.05\n    while time.process_time() < until: sum(range(100))\n"
PLAIN = "import os, time\n" + WORK + "work()\nos.write(1, b'ready\\n')\nprint(input())\nwork()\n"
IGNORES = "import signal\nsignal.signal(signal.SIGTSTP, signal.SIG_IGN)\n" + PLAIN
# A handler written in Python runs between instructions: one that comes just before `input` blocks would wait for a key.
STOPS_ITSELF = "import os, select, signal, time\n" + WORK + (
    "def stop(*_):\n    os.write(1, b'tidy\\n')\n    os.kill(os.getpid(), signal.SIGSTOP)\n    os.write(1, b'again\\n')\n"
    "signal.signal(signal.SIGTSTP, stop)\nwork()\nos.write(1, b'ready\\n')\n"
    "while not select.select([0], [], [], 0.01)[0]: pass\nprint(input())\nwork()\n"
)
# A program that reads in the background: the kernel stops its whole group.
READS_BEHIND = "import os, signal\nsignal.signal(signal.SIGTTOU, signal.SIG_IGN)\nos.tcsetpgrp(0, os.getsid(0))\n" + (
    "signal.signal(signal.SIGTTOU, signal.SIG_DFL)\n"
) + PLAIN
# The shell wakes the whole group: genba's own SIGCONT is not for the program.
COUNTS_WAKES = "import os, select, signal, time\n" + WORK + (
    "signal.signal(signal.SIGCONT, lambda *_: os.write(1, b'woken\\n'))\nwork()\nos.write(1, b'ready\\n')\n"
    "while not select.select([0], [], [], 0.01)[0]: pass\nprint(input())\nwork()\n"
)


@dataclass
class Shell:
    process: subprocess.Popen
    keyboard: int
    wake: int

    def press(self, keys: bytes) -> None:
        os.write(self.keyboard, keys)

    def job(self) -> str:
        return self.process.stderr.readline().strip()

    def says(self) -> str:
        return self.process.stdout.readline().strip()

    def go_on(self) -> None:
        os.write(self.wake, b"\n")


@contextmanager
def shell(workshop: Workshop, program: str, under_genba: bool) -> Iterator[Shell]:
    keyboard, screen = os.openpty()
    waits, wake = os.pipe()

    def wake_on_3() -> None:
        os.dup2(waits, 3)

    place = workshop.place
    target = [workshop.interpreter.path, program]
    if under_genba:
        target = [place.genba_inside, "run", "-q", "-o", f"{place.inside}/job.genba", "--force", *target]
    command = place.command(target)
    process = subprocess.Popen(
        [sys.executable, str(PROGRAMS / "leader.py"), *command], stdin=screen, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=place.outside, env=place.environment({}), preexec_fn=wake_on_3, pass_fds=(3,),
    )
    os.close(screen)
    os.close(waits)

    def too_long(*_: object) -> None:
        raise TimeoutError("nothing happened for two minutes")

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(120)
    try:
        yield Shell(process, keyboard, wake)
    finally:
        signal.alarm(0)
        os.close(keyboard)
        os.close(wake)
        process.kill()
        process.communicate()


def stops_and_goes_on(it: Shell) -> None:
    assert it.says() == "ready"
    it.press(CTRL_Z)
    assert it.job() in (f"stopped by {signal.SIGTSTP.value}", f"stopped by {signal.SIGSTOP.value}")
    it.go_on()
    it.press(b"typed\n")
    assert (it.says(), it.job()) == ("typed", "ended with 0")


def ignores(it: Shell) -> None:
    """The shell must not take the terminal away from a program that goes on."""
    assert it.says() == "ready"
    it.press(CTRL_Z)
    it.press(b"typed\n")
    assert (it.says(), it.job()) == ("typed", "ended with 0")


def handles(it: Shell) -> None:
    """As an editor does: it tidies the screen, then stops itself."""
    assert it.says() == "ready"
    it.press(CTRL_Z)
    assert (it.says(), it.job()) == ("tidy", f"stopped by {signal.SIGSTOP.value}")
    it.go_on()
    assert it.says() == "again"
    it.press(b"typed\n")
    assert (it.says(), it.job()) == ("typed", "ended with 0")


def reads_behind(it: Shell) -> None:
    assert it.says() == "ready"
    assert it.job() in (f"stopped by {signal.SIGTTIN.value}", f"stopped by {signal.SIGSTOP.value}")
    it.go_on()
    it.press(b"typed\n")
    assert (it.says(), it.job()) == ("typed", "ended with 0")


def wakes_once(it: Shell) -> None:
    assert it.says() == "ready"
    it.press(CTRL_Z)
    assert it.job() in (f"stopped by {signal.SIGTSTP.value}", f"stopped by {signal.SIGSTOP.value}")
    it.go_on()
    assert it.says() == "woken"
    it.press(b"typed\n")
    assert (it.says(), it.job()) == ("typed", "ended with 0")


CASES = {
    "plain": (PLAIN, stops_and_goes_on),
    "ignored": (IGNORES, ignores),
    "handled": (STOPS_ITSELF, handles),
    "read in the background": (READS_BEHIND, reads_behind),
    "woken": (COUNTS_WAKES, wakes_once),
}


@pytest.mark.parametrize("case", CASES)
def test_ctrl_z(workshop: Workshop, case: str) -> None:
    text, judge = CASES[case]
    with shell(workshop, workshop.write("program.py", text), under_genba=True) as it:
        judge(it)


@pytest.mark.parametrize("case", CASES)
def test_ctrl_z_without_genba(workshop: Workshop, case: str) -> None:
    """What the cases ask for is what a shell does. Of no CPython in particular: tests/workshop/runs_on.py has it run on one."""
    text, judge = CASES[case]
    with shell(workshop, workshop.write("program.py", text), under_genba=False) as it:
        judge(it)


def test_ctrl_z_does_not_stop_genba_before_the_program(workshop: Workshop) -> None:
    """However early it comes: when the program has begun it is blocked in genba already."""
    text = (
        "import os, re\nstatus = open(f'/proc/{os.getppid()}/status').read()\n"
        "print(re.search('SigBlk:\\\\s*(.*)', status)[1])\n"
    )
    run = workshop.run(workshop.write("looks.py", text), flags=("-q",))
    assert int(run.stdout, 16) >> (signal.SIGTSTP - 1) & 1, run.stdout


def test_a_signal_ignored_at_the_start_is_passed_on(workshop: Workshop) -> None:
    """As under nohup: SIGHUP is ignored, but the program has installed a handler for it since."""
    text = (
        "import os, select, signal\nprint(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, flush=True)\n"
        "signal.signal(signal.SIGHUP, lambda *_: os.write(1, b'heard\\n'))\nprint('ready', flush=True)\n"
        "while not select.select([0], [], [], 0.01)[0]: pass\nprint(input())\n"
    )
    place = workshop.place
    process = workshop.start(
        [workshop.interpreter.path, workshop.write("nohup.py", text)], ["-q", "-o", f"{place.inside}/nohup.genba"], {},
        stdin=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    assert [process.stdout.readline(), process.stdout.readline()] == ["True\n", "ready\n"]
    process.send_signal(signal.SIGHUP)
    assert process.stdout.readline() == "heard\n"
    stdout, stderr = process.communicate("bye\n", timeout=60)
    assert (process.returncode, stdout) == (0, "bye\n"), stderr
