"""Ctrl-C on a real terminal: the first one is the program's, the second one ends genba, the recording stays."""

import fcntl
import os
import select
import shutil
import signal
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from recording import Workshop, genba_said

PROGRAM = """import os, signal, time
signal.signal(signal.SIGINT, lambda *_: os.write(1, b"interrupted\\n"))
signal.signal(signal.SIGHUP, signal.SIG_IGN)
os.write(1, b"%d\\n" % os.getpid())
while True:
    sum(range(1000))
"""


@contextmanager
def on_a_terminal(workshop: Workshop, program: str, verb: str = "run") -> Iterator[tuple[subprocess.Popen, int]]:
    """genba as the leader of a session; the keyboard is the other end of its terminal."""
    keyboard, screen = os.openpty()

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(screen, termios.TIOCSCTTY, 0)

    def too_long(*_: object) -> None:
        raise TimeoutError("the terminal was silent for two minutes")

    # A key that nobody hears must end the test, not hang it.
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(120)
    # What `--force` replaces must not stay behind.
    (workshop.place.outside / "terminal.genba").touch()
    flags = ["--force", "-o", f"{workshop.place.inside}/terminal.genba"]
    process = workshop.start([workshop.interpreter.path, program], flags, {}, verb, stdin=screen, preexec_fn=take_terminal)
    os.close(screen)
    try:
        yield process, keyboard
    finally:
        signal.alarm(0)
        os.close(keyboard)
        process.kill()
        process.communicate()


def press_until_it_ends(genba: subprocess.Popen, keyboard: int) -> None:
    """Two that come before genba has seen the first are one signal to the kernel: press until it has. Once genba has ended, its terminal is gone, and
    the program hears no more keys."""
    while genba.poll() is None:
        with suppress(OSError):
            os.write(keyboard, b"\x03")
        with suppress(subprocess.TimeoutExpired):
            genba.wait(timeout=1)


def test_the_second_ctrl_c_ends_genba(workshop: Workshop) -> None:
    with on_a_terminal(workshop, workshop.write("stubborn.py", PROGRAM)) as (genba, keyboard):
        pid = int(genba.stdout.readline())
        try:
            os.write(keyboard, b"\x03")
            assert genba.stdout.readline() == "interrupted\n"
            assert genba.poll() is None, "the first one is the program's"
            press_until_it_ends(genba, keyboard)
            assert genba.returncode == 128 + signal.SIGINT
            assert [path.name for path in workshop.place.outside.glob("terminal.genba*")] == ["terminal.genba"]
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    recording = workshop.place.outside / "terminal.genba"
    assert recording.stat().st_size > 0


def test_a_traced_program_goes_on_and_its_counts_are_found(workshop: Workshop) -> None:
    """No recording will be made: genba names the folder, and the program writes there when it ends."""
    text = PROGRAM.replace("while True:", 'while not os.path.exists("end"):')
    with on_a_terminal(workshop, workshop.write("traced.py", text), "trace") as (genba, keyboard):
        pid = int(genba.stdout.readline())
        try:
            os.write(keyboard, b"\x03")
            assert genba.stdout.readline() == "interrupted\n"
            press_until_it_ends(genba, keyboard)
            said = genba.stderr.readline()
            assert genba.returncode == 128 + signal.SIGINT
            assert f"process {pid} goes on and writes its counts into /" in said and "there will be no " in said, said
            # What was to be replaced is back, and nothing lies beside it.
            assert [path.name for path in workshop.place.outside.glob("terminal.genba*")] == ["terminal.genba"]
            folder = Path(workshop.interpreter.root or "/") / said.split(" into /")[1].split(" ")[0]
            assert folder.is_dir()
            ended = os.pidfd_open(pid)
        finally:
            (workshop.place.outside / "end").touch()
        select.select([ended], [], [])
        os.close(ended)
    (counts,) = [path for path in folder.glob("*.prof") if path.stat().st_size > 0]
    assert "{built-in method builtins.sum}" in genba_said("pstats", counts, "--stats")
    shutil.rmtree(folder)


def test_an_interrupted_program_is_reported(workshop: Workshop) -> None:
    text = "import os\nprint(os.getpid(), flush=True)\nwhile True: sum(range(1000))\n"
    with on_a_terminal(workshop, workshop.write("plain.py", text)) as (genba, keyboard):
        genba.stdout.readline()
        os.write(keyboard, b"\x03")
        _, stderr = genba.communicate(timeout=60)
    assert genba.returncode == 128 + signal.SIGINT
    assert "KeyboardInterrupt" in stderr and "has no end" not in stderr, stderr
