"""Signals to the pid that was started: each reaches the program, once, as it would without genba, and stops or ends genba only as the program does."""

import ctypes
import fcntl
import os
import signal
import socket
import subprocess
import termios
from collections.abc import Callable

import pytest

from both_ways import words_of
from recording import Workshop

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.sigqueue.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
# All that may be caught, those of mistakes too; SIGTERM ends the program. glibc keeps two, which Python does not list.
SENT = [*sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM}), signal.SIGTERM]

# libc's handler writes a byte for each signal that comes.
TELLS = """
import os, signal, sys
come, comes = os.pipe()
os.set_blocking(comes, False)
signal.set_wakeup_fd(comes)
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, lambda *_: None)
print("ready", flush=True)
number = 0
while number != signal.SIGTERM:
    number = os.read(come, 1)[0]
    print(number, flush=True)
sys.exit(7)
"""

# Takes as many as it was told, and says all that the kernel says of them.
TAKES = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
print("ready", flush=True)
input()
come = (ctypes.c_int * 32)()
for _ in range(int(sys.argv[1])):
    libc.sigwaitinfo((ctypes.c_ulong * 16)(*[2 ** 64 - 1] * 16), come)
    number, _, code, _, sender, user = come[:6]
    value = ctypes.cast(come, ctypes.POINTER(ctypes.c_long))[3]
    print(number, code, sender, user, value)
"""


def start(workshop: Workshop, under_genba: bool, text: str, *arguments: str, **options: object) -> subprocess.Popen:
    target = [workshop.interpreter.path, workshop.write("program.py", text), *arguments]
    if under_genba:
        return workshop.start(target, ["-q", "-o", f"{workshop.place.inside}/signals.genba"], {}, **options)
    place = workshop.place
    return subprocess.Popen(
        place.command(target), cwd=place.outside, env=place.environment({}), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, **options,
    )


def with_and_without(workshop: Workshop, text: str, does: Callable[[subprocess.Popen], list], *arguments: str, **options: object) -> list:
    """What `does` saw of a process that was started, and how that ended: the same under genba as without."""
    seen = []
    for under_genba in (False, True):
        process = start(workshop, under_genba, text, *arguments, **options)
        try:
            assert process.stdout.readline() == "ready\n"
            happened = does(process)
            if under_genba:
                run = workshop.finish(process, "signals.genba")
                seen.append((happened, run.exit_code, run.stdout))
            else:
                rest, _ = process.communicate(timeout=60)
                seen.append((happened, process.returncode, rest))
        finally:
            process.kill()
    assert seen[0] == seen[1]
    return seen[0][0]


def test_each_signal_arrives_once(workshop: Workshop) -> None:
    """A second copy of one would be read in the place of the next."""

    def send_each(process: subprocess.Popen) -> list[int]:
        arrived = []
        for number in SENT:
            process.send_signal(number)
            arrived.append(int(process.stdout.readline()))
        return arrived

    # In a group of its own, so that a stop would be one.
    assert with_and_without(workshop, TELLS, send_each, process_group=0) == SENT


def test_signals_with_a_value(workshop: Workshop) -> None:
    """They queue: none is lost, the order stays, and the sender is who called sigqueue."""
    sent = [(signal.SIGRTMIN + 3, value) for value in range(200)] + [(signal.SIGRTMAX, 2**63 - 1), (signal.SIGUSR1, 99), (signal.SIGTTIN, -1)]

    def queue(process: subprocess.Popen) -> list[str]:
        for number, value in sent:
            assert LIBC.sigqueue(process.pid, number, value) == 0
        # All are there before the first is taken, which changes nothing for a queue.
        process.stdin.write("take them\n")
        process.stdin.flush()
        # Which of two signals is taken first is the kernel's choice; each is taken in the order in which it was sent.
        return sorted((process.stdout.readline() for _ in sent), key=number_of)

    def number_of(line: str) -> int:
        return int(line.split()[0])

    SI_QUEUE = -1
    expected = [f"{number:d} {SI_QUEUE} {os.getpid()} {os.getuid()} {value}\n" for number, value in sent]
    assert with_and_without(workshop, TAKES, queue, str(len(sent)), stdin=subprocess.PIPE) == sorted(expected, key=number_of)


def test_a_file_that_was_given_to_the_pid(workshop: Workshop) -> None:
    """F_SETOWN outlives an exec: the kernel sends SIGIO to the pid that was started, and to nobody else."""
    text = (
        "import os, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGIO})\nprint('ready', flush=True)\n"
        "print(signal.sigwait({signal.SIGIO}).name, flush=True)\n"
    )
    ours, theirs = socket.socketpair()

    def own() -> None:
        fcntl.fcntl(theirs, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(theirs, fcntl.F_SETFL, os.O_ASYNC)

    def write(process: subprocess.Popen) -> list[str]:
        ours.send(b".")
        return [process.stdout.readline()]

    with ours, theirs:
        assert with_and_without(workshop, text, write, preexec_fn=own, pass_fds=(theirs.fileno(),)) == ["SIGIO\n"]


def test_a_terminal_that_is_gone(workshop: Workshop) -> None:
    """The kernel tells the leader of the session alone: what `ssh -t` or the window of a terminal has started."""

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    seen = []
    for under_genba in (False, True):
        keyboard, screen = os.openpty()
        process = start(workshop, under_genba, TELLS.replace("SIGTERM:", "SIGHUP:"), stdin=screen, preexec_fn=take_terminal)
        os.close(screen)
        try:
            assert process.stdout.readline() == "ready\n"
            os.close(keyboard)
            # SIGCONT comes with it, before or after.
            seen.append(([line for line in process.stdout if int(line) != signal.SIGCONT], process.wait(timeout=60)))
        finally:
            process.kill()
            process.communicate()
    assert seen == [([f"{signal.SIGHUP:d}\n"], 7)] * 2


@pytest.mark.parametrize("ignored", [(), (signal.SIGPIPE, signal.SIGCHLD, signal.SIGTTIN)], ids=["none", "three"])
def test_what_the_program_inherits(workshop: Workshop, ignored: tuple[signal.Signals, ...]) -> None:
    """Signals that were ignored or blocked when genba was started are that for the program, and no others. Asked of a shell, since Python changes some."""
    shell = ["/bin/sh", "-c", f"grep -E '^Sig(Ign|Blk)' /proc/self/status; {workshop.interpreter.path} -c pass; exit 7"]

    def inherit() -> None:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGRTMIN + 1})

    place = workshop.place
    alone = subprocess.run(
        place.command(shell), cwd=place.outside, env=place.environment({}), capture_output=True, text=True, preexec_fn=inherit
    )
    process = workshop.start(shell, ["-q", "-o", f"{place.inside}/inherits.genba"], {}, preexec_fn=inherit)
    run = workshop.finish(process, "inherits.genba")
    assert (run.exit_code, run.stdout, words_of(run.stderr)) == (7, alone.stdout, alone.stderr)
