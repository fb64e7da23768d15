"""Filters that answer genba's system calls with errors: the program does what it does without genba, to its end.

A filter is inherited (a wrapper installs it, then starts the program) or installed by the program itself, with all its threads or
alone. One system call at a time: each of those that genba makes in the program, also when that is idle and genba rests.
"""

import subprocess

import pytest

from both_ways import built, same_both_ways
from recording import Workshop
from seccomp import FILTER, TRAPS
from runs_on import KINDS
from soak import SOAK
from tables_made import HASHES, share_of_whole

# Number on x86-64 of each system call of genba's that a program can do without after its start.
CALLS = {
    "pread64": 17, "mremap": 25, "madvise": 28, "prctl": 157, "gettid": 186, "getdents64": 217, "clock_gettime": 228,
    "unshare": 272, "rt_tgsigqueueinfo": 297, "prlimit64": 302, "process_vm_readv": 310, "getrandom": 318, "close_range": 436,
    "sched_setaffinity": 203, "sched_getaffinity": 204,
    "sched_setattr": 314, "sched_getattr": 315, "lseek": 8, "socket": 41, "readlink": 89, "readlinkat": 267, "getcwd": 79, "rt_sigtimedwait": 128, "timer_create": 222, "timer_settime": 223, "timer_delete": 226, "faccessat": 269, "faccessat2": 439, "fstatfs": 138, "mq_getsetattr": 245,
}
TOGETHER = [*CALLS, "close_range and unshare"]
SHORT = ["rt_tgsigqueueinfo", "timer_settime", "rt_sigtimedwait", "process_vm_readv", "clock_gettime", "close_range and unshare"]
SHORT_ON = "3.13"
WORK = """
def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: sum(range(1000))
def child():
    pid = os.fork()
    if pid == 0:
        work(0.05)
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""
INHERITED = FILTER + "install(eval(sys.argv[1]), int(sys.argv[2]))\nos.execv(sys.argv[3], sys.argv[3:])\n"
PROGRAM = "import os, threading, time\n" + WORK + "thread = threading.Thread(target=work, args=[0.1])\nthread.start()\nwork(0.2)\nthread.join()\ntime.sleep(0.2)\nprint(child())\n"
ITSELF = (
    FILTER + "import threading, time\n" + WORK + "work(0.1)\ninstall(eval(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))\n"
    "thread = threading.Thread(target=work, args=[0.1])\nthread.start()\nwork(0.1)\nthread.join()\ntime.sleep(0.2)\nprint(child())\n"
)
EPERM, ENOSYS, ALL_THREADS = 1, 38, 1


def numbers_of(call: str) -> list[int]:
    return [CALLS[one] for one in call.split(" and ")]


def of_this_form(workshop: Workshop, call: str) -> None:
    """The calls are the agent's, and their answers the kernel's: each on one CPython of each kind, a choice on the others."""
    if not SOAK and workshop.interpreter.name != SHORT_ON:
        pytest.skip(f"make soak; the short form runs on {SHORT_ON}")
    if call not in SHORT and workshop.interpreter.name not in KINDS:
        pytest.skip(f"{call} is refused on {', '.join(KINDS)}: one CPython of each kind")


def same_as_alone(workshop: Workshop, arguments: list[str]) -> bool:
    """False: the program cannot do without this call, genba or not."""
    command = workshop.place.command(arguments)
    environment = workshop.place.environment({})
    alone = subprocess.run(
        command, cwd=workshop.place.outside, env=environment, capture_output=True, text=True, timeout=60
    )
    run = workshop.run_target(arguments, flags=("-q",))
    assert (run.exit_code, run.stdout) == (alone.returncode, alone.stdout), (alone.stderr, run.stderr)
    return alone.returncode == 0


@pytest.mark.parametrize("call", TOGETHER if SOAK else SHORT)
def test_a_filter_of_a_wrapper(workshop: Workshop, call: str) -> None:
    of_this_form(workshop, call)
    python = workshop.interpreter.path
    wrapper, program = workshop.write("wrapper.py", INHERITED), workshop.write("program.py", PROGRAM)
    same_as_alone(workshop, [python, "-I", wrapper, str(numbers_of(call)), str(ENOSYS), python, program])


@pytest.mark.parametrize("flags", [0, ALL_THREADS], ids=["one thread", "all threads"])
@pytest.mark.parametrize("call", TOGETHER if SOAK else SHORT)
def test_a_filter_of_its_own(workshop: Workshop, call: str, flags: int) -> None:
    of_this_form(workshop, call)
    program = workshop.write("itself.py", ITSELF)
    assert same_as_alone(workshop, [workshop.interpreter.path, program, str(numbers_of(call)), str(EPERM), str(flags)])


HIDDEN = FILTER + """
import socket, threading
if len(sys.argv) > 1:
    install([int(sys.argv[1])], int(sys.argv[2]), int(sys.argv[3]))
mine, other = socket.socketpair()
threading.Timer(0.5, other.send, [b"x"]).start()
mine.recv(1)
"""


def test_where_descriptors_are_hidden_a_wait_has_its_call_alone(workshop: Workshop) -> None:
    program = workshop.write("hidden.py", HIDDEN)
    for filtered, expected in (((), "in recvfrom(2) on a socket"), ((CALLS["readlinkat"], EPERM, ALL_THREADS), "in recvfrom(2)")):
        run = workshop.run(program, *map(str, filtered))
        assert run.exit_code == 0, run.stderr
        states = {row.state for row in run.profile().rows() if row.wall_ns > 0 and "recvfrom" in row.state}
        assert states == {expected}


TRAPPED = TRAPS + """
import signal, threading, time
emulating = ctypes.CDLL(sys.argv[1])
emulating.emulate()
emulating.blocked_faults()
install([PROCESS_VM_READV, OPENAT], 0, 1)
until = time.process_time() + 0.3
while time.process_time() < until: sum(range(1000))
def sleepy():
    for _ in range(20):
        time.sleep(0.005)
        sum(range(100_000))
later = threading.Thread(target=sleepy)
later.start()
later.join()
print(open("/proc/self/comm").read() != "")
print("trapped" if emulating.traps() else "never")
""".replace("PROCESS_VM_READV", str(CALLS["process_vm_readv"])).replace("OPENAT", "257")


def test_calls_that_a_sandbox_traps_and_emulates(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> None:
    """SECCOMP_RET_TRAP raises SIGSYS at the call, also in genba's handler and on its thread; where SIGSYS is blocked it kills. The thread
    blocks SIGSEGV, so the handler reads by process_vm_readv. This sandbox finds no file below an open folder: a thread that began in it has
    none, and lives."""
    library = workshop.take(built("emulating", tmp_path_factory))
    run = same_both_ways(workshop, workshop.write("trapped.py", TRAPPED), library)
    assert run.stdout == "True\ntrapped\n"


def test_c_stacks_are_whole_without_process_vm_readv(workshop: Workshop) -> None:
    """Unwind sections are read by guarded loads then: down to the first frame of the thread."""
    python, wrapper, program = workshop.interpreter.path, workshop.write("wrapper.py", INHERITED), workshop.write("hashes.py", HASHES)
    numbers = str(numbers_of("process_vm_readv"))
    run = workshop.run_target([python, "-I", wrapper, numbers, str(EPERM), python, program], flags=("-q",))
    assert share_of_whole(run) > 0.8, run.report()


# A filter of one thread, which kills the process at the calls with which a thread would tell its end.
SANDBOXED = FILTER + """
import threading
KILL_PROCESS, GETTID, CLOCK_GETTIME = 0x80000000, 186, 228
def work(): sum(range(300_000))
def sandboxed():
    seccomp([GETTID, CLOCK_GETTIME], KILL_PROCESS, 0)
    work()
threading.Thread(target=work).start()
thread = threading.Thread(target=sandboxed)
thread.start()
thread.join()
work()
print("lives")
"""


def test_a_thread_in_a_sandbox_of_its_own_ends_as_alone(workshop: Workshop) -> None:
    assert same_as_alone(workshop, [workshop.interpreter.path, "-c", SANDBOXED])


def test_where_descriptors_cannot_be_kept_apart_the_recording_says_so(workshop: Workshop) -> None:
    """As under Docker's default filter on kernels before 5.9, which have no close_range: the program runs, and is not recorded."""
    python, wrapper, program = workshop.interpreter.path, workshop.write("wrapper.py", INHERITED), workshop.write("program.py", PROGRAM)
    run = workshop.run_target([python, "-I", wrapper, str(numbers_of("close_range and unshare")), str(ENOSYS), python, program])
    assert (run.exit_code, run.stdout) == (0, "7\n"), run.stderr
    # The wrapper was recorded before it had the filter.
    refused = [process["refused"] for process in run.profile()["processes"] if process["refused"]]
    assert refused and all("keeps genba's descriptors apart" in words for words in refused), run.profile()["processes"]
