"""What `genba dump` says when it may not or cannot look, and that the process goes on as before."""

import ctypes
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from interpreters import pyenv_candidates
from looked_at import LOOKS_MAX, Program, refusal, started
from recording import binary, genba

WAITS = "import sys; print('ready', flush=True); sys.stdin.read()"
SPINS = "print('ready', flush=True)\nwhile True: pass"
NOBODY = 65534
# pause() for ever, as 32-bit and 64-bit instructions.
PAUSE_32 = bytes.fromhex("b81d000000cd80ebf7")
PAUSE_64 = bytes.fromhex("b8220000000f05ebf7")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def test_no_such_process() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert f"error: there is no process {gone.pid}\n" in refusal(gone.pid)


def test_a_zombie() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    said = refusal(ended.pid)
    assert f"error: process {ended.pid} is a zombie\n" in said and f"process {os.getpid()} started it" in said
    ended.wait()


def test_no_python() -> None:
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        said = refusal(sleeper.pid)
        assert f"error: process {sleeper.pid} is not a Python process\n" in said
    finally:
        sleeper.kill()
        sleeper.wait()


def test_an_older_python(tmp_path: Path) -> None:
    older = next(iter(pyenv_candidates("3.10")), None)
    if older is None:
        pytest.skip("no CPython 3.10 in pyenv")
    with started([str(older), "-c", WAITS], cwd=tmp_path) as program:
        said = refusal(program.pid)
        assert "genba does not know the Python of process" in said and "older than CPython 3.11" in said
        assert "hint: genba knows CPython 3.11 to 3.15" in said


def elf(bits: int) -> bytes:
    """A program of one segment that does nothing for ever."""
    code = PAUSE_32 if bits == 32 else PAUSE_64
    base = 0x400000
    ident = b"\x7fELF" + bytes([1 if bits == 32 else 2, 1, 1]) + bytes(9)
    if bits == 32:
        head = ident + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + 84, 52, 0, 0, 52, 32, 1, 0, 0, 0)
        return head + struct.pack("<IIIIIIII", 1, 0, base, base, 84 + len(code), 84 + len(code), 5, 4096) + code
    head = ident + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, base + 120, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, 120 + len(code), 120 + len(code), 4096) + code


@pytest.mark.parametrize(("bits", "words"), [(32, "32-bit processes; genba knows x86-64"), (64, "does not say where `_PyRuntime` is")])
def test_programs_without_an_interpreter_to_find(tmp_path: Path, bits: int, words: str) -> None:
    path = tmp_path / "python3.13"
    path.write_bytes(elf(bits))
    path.chmod(0o755)
    try:
        process = subprocess.Popen([path])
    except OSError as error:
        pytest.skip(f"this kernel runs no {bits}-bit programs: {error}")
    try:
        assert words in refusal(process.pid)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def for_everybody(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command where every user may start it."""
    folder = Path("/tmp") / f"genba-dump-{os.getpid()}"
    folder.mkdir(mode=0o755)
    shutil.copy2(binary(), folder / "genba")
    yield folder / "genba"
    shutil.rmtree(folder)


@needs_root
def test_another_user(for_everybody: Path, tmp_path: Path) -> None:
    with started([sys.executable, "-c", WAITS], cwd=tmp_path) as program:
        said = refusal(program.pid, command=for_everybody, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")
        assert f"error: genba may not look at process {program.pid}\n" in said
        assert f"it belongs to user 0, genba runs as user {NOBODY}" in said and "or as root" in said
        goes_on(program)


def without_process_vm_readv() -> None:
    """As in a container whose seccomp filter forbids it."""
    forbidding(310)


def forbidding(call: int) -> None:
    """BPF that answers EPERM to one system call, for this process and its children."""
    libc = ctypes.CDLL(None, use_errno=True)
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, call), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in steps))
    filter_of = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(steps), ctypes.addressof(program)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, filter_of, 0, 0) == 0


def test_a_seccomp_filter_around_genba(tmp_path: Path) -> None:
    with started([sys.executable, "-c", WAITS], cwd=tmp_path) as program:
        said = refusal(program.pid, command=binary(), preexec_fn=without_process_vm_readv)
        assert "seccomp filter of this container" in said and "--cap-add SYS_PTRACE" in said
        doctor = subprocess.run([binary(), "doctor"], capture_output=True, text=True, preexec_fn=without_process_vm_readv)
        assert "it forbids process_vm_readv" in doctor.stdout


def test_a_traced_process_is_read_and_unverified(tmp_path: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    seize = 0x4206
    with started([sys.executable, "-c", SPINS], cwd=tmp_path) as program:
        if libc.ptrace(seize, program.pid, None, None):
            pytest.skip("ptrace is forbidden here")
        (thread,) = program.threads().values()
        assert thread["certainty"] == "unverified, two reads were equal" and thread["frames"][0]["line"] == 2
        said = genba("doctor", str(program.pid)).stdout
        assert re.search(rf"traced by +process {os.getpid()}\b", said) and "cannot be stopped" in said
        # As long as it is traced only its tracer can wait for it.
        program.process.send_signal(signal.SIGKILL)
        os.waitpid(program.pid, 0)


def test_a_stopped_process_stays_stopped(tmp_path: Path) -> None:
    with started([sys.executable, "-c", WAITS], cwd=tmp_path) as program:
        program.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, program.pid, os.WSTOPPED | os.WNOWAIT)
        (thread,) = program.threads().values()
        assert (thread["state"], thread["certainty"]) == ("stopped by a signal or a debugger", "slept")
        assert "1 thread, not stopped by genba\n" in genba("dump", str(program.pid)).stdout
        assert Path(f"/proc/{program.pid}/stat").read_text().split(") ")[1].startswith("T")
        program.process.send_signal(signal.SIGCONT)
        goes_on(program)


def goes_on(program: Program) -> None:
    assert program.process.poll() is None
    program.process.stdin.close()
    assert program.process.wait(60) == 0
    program.process.stdin = None


def test_no_system_call_is_cut_short(tmp_path: Path) -> None:
    """A thread that sleeps is not stopped. A stop would end `epoll_wait` with EINTR, and a caller in C need not call it again."""
    code = (
        "import ctypes, select\nlibc = ctypes.CDLL(None, use_errno=True)\nevents, poll = ctypes.create_string_buffer(12), select.epoll()\n"
        "poll.register(0, select.EPOLLIN)\nprint('ready', flush=True)\n"
        "print(libc.epoll_wait(poll.fileno(), events, 1, -1), ctypes.get_errno(), flush=True)"
    )
    with started([sys.executable, "-c", code], cwd=tmp_path) as program:
        seen = 0
        for _ in range(LOOKS_MAX):
            (thread,) = program.threads("--native").values()
            seen += (thread["system_call"] or {}).get("name") == "epoll_wait"
            if seen == 3:
                break
        assert seen == 3, thread
        program.process.stdin.write("\n")
        program.process.stdin.flush()
        assert program.process.stdout.readline().split() == ["1", "0"]
