"""System calls that demand a process of one thread: genba's steps aside for them, and they answer as without genba, as `chroot` and
`setuid` do, which may take the way to the recording."""

import pytest

from both_ways import same_both_ways
from profile_tables import RUNNING
from recording import Workshop


CALLS = """
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
FILES, FS, SIGHAND, THREAD, VM = 0x400, 0x200, 0x800, 0x10000, 0x100
USER, PID, MOUNTS, TIME = 0x10000000, 0x20000000, 0x20000, 0x80
def answer(function, *arguments):
    ctypes.set_errno(0)
    result = function(*arguments)
    return result, ctypes.get_errno()
def enter(name):
    descriptor = os.open(f"/proc/self/ns/{name}", os.O_RDONLY)
    try:
        return answer(libc.setns, descriptor, 0)
    finally:
        os.close(descriptor)
def work():
    until = time.process_time() + 0.3
    while time.process_time() < until: sum(range(100))
def later():
    until = time.process_time() + 0.3
    while time.process_time() < until: sum(range(100))
work()
"""
WAYS = {
    "of all kinds": "[answer(libc.unshare, flags) for flags in (FS, FILES, TIME, THREAD, SIGHAND, VM, 1)]",
    "user": "[answer(libc.unshare, USER), answer(libc.unshare, USER | MOUNTS)]",
    "another root": "[answer(libc.chroot, path) for path in (b'/nowhere', None)]",
    "another user": "[answer(call, *[-1] * count) for call, count in ((libc.setuid, 1), (libc.seteuid, 1), (libc.setreuid, 2), (libc.setresuid, 3))]",
    "entered": "[enter(name) for name in ('mnt', 'user', 'net', 'uts', 'time')] + [answer(libc.setns, -1, 0)]",
}


@pytest.mark.parametrize("way", WAYS)
def test_the_calls_answer_as_without_genba(workshop: Workshop, way: str) -> None:
    text = CALLS + f"print({WAYS[way]})\nlater()\nchild = os.fork()\nif child == 0:\n    os._exit(3)\nprint(os.waitpid(child, 0)[1])\n"
    run = same_both_ways(workshop, workshop.write("spaces.py", text))
    profile = run.profile()
    for function in ("work", "later"):
        assert profile.sum("samples", lambda row, name=function: row.state in RUNNING and name in row.names()) > 0


def test_a_second_thread_of_the_program_is_not_hidden(workshop: Workshop) -> None:
    text = CALLS + (
        "done = threading.Event()\nthread = threading.Thread(target=done.wait)\nthread.start()\n"
        "print(answer(libc.unshare, USER), answer(libc.unshare, THREAD))\ndone.set()\nthread.join()\n"
    )
    same_both_ways(workshop, workshop.write("threads.py", text))


def test_where_no_thread_can_be_made_any_more(workshop: Workshop) -> None:
    """After unshare(CLONE_NEWPID) the process can fork and can make no thread: the recording is ended by the program's own."""
    text = CALLS + "print(answer(libc.unshare, USER | PID | MOUNTS))\nchild = os.fork()\nif child == 0:\n    os._exit(3)\n" + (
        "print(os.waitpid(child, 0)[1])\nlater()\n"
    )
    run = same_both_ways(workshop, workshop.write("alone.py", text))
    profile = run.profile()
    assert profile["processes"][0]["ended"] == "exit", profile["processes"]
    assert profile.sum("samples", lambda row: row.state in RUNNING and "work" in row.names()) > 0, profile.facts()
