"""What `genba attach` refuses: the words, the hint, and that the process goes on as before."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from entered import COUNTED, few, on, refused, running, state
from interpreters import from_pyenv, pyenv_candidates
from looked_at import refusal
from looked_at import started as waiting
from recording import Workshop, binary
from running_program import Program, until
from test_dump_refusals import NOBODY, elf, goes_on, needs_root


def plain(pid: int, tmp_path: Path, *, command: Path | None = None, **options) -> str:
    """What `genba attach` says of a process that it refuses."""
    recording = tmp_path / "refused.genba"
    done = subprocess.run([command or binary(), "attach", str(pid), "-o", recording, "--duration", "100ms"], capture_output=True, text=True, timeout=60, **options)
    assert done.returncode == 1 and done.stdout == "", done
    assert done.stderr.startswith("error: ") and "hint: " in done.stderr, done.stderr
    assert not recording.exists()
    return done.stderr


def test_what_is_no_process(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert f"error: process {ended.pid} is a zombie\n" in plain(ended.pid, tmp_path)
    ended.wait()
    assert f"error: there is no process {ended.pid}\n" in plain(ended.pid, tmp_path)


@needs_root
def test_a_thread_of_the_kernel(tmp_path: Path) -> None:
    if not Path("/proc/2/status").exists() or "Kthread:\t0" in Path("/proc/2/status").read_text() or Path("/proc/2/cmdline").read_bytes():
        pytest.skip("this /proc shows no threads of the kernel")
    assert "is a thread of the kernel" in plain(2, tmp_path)


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
        assert words in plain(process.pid, tmp_path)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


# Maps the file that is named, if one is.
MAPS = """\
import mmap, sys
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        loader = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_python_that_genba_does_not_know(tmp_path: Path) -> None:
    older = next(iter(pyenv_candidates("3.10")), None)
    if older is None:
        pytest.skip("no CPython 3.10 in pyenv")
    with waiting([str(older), "-c", MAPS], cwd=tmp_path) as program:
        said = plain(program.pid, tmp_path)
        assert said == refusal(program.pid)
        assert f"error: genba does not know the Python of process {program.pid}\n" in said and "older than CPython 3.11" in said
        assert "hint: genba knows CPython 3.11 to 3.15" in said
        goes_on(program)


def test_a_python_for_musl(tmp_path: Path) -> None:
    """The linker of musl is among its files. The same Python without it is not refused."""
    linker = tmp_path / "ld-musl-x86_64.so.1"
    linker.write_bytes(bytes(4096))
    python = from_pyenv()[-1].path
    with waiting([python, "-c", MAPS, str(linker)], cwd=tmp_path) as program:
        said = plain(program.pid, tmp_path)
        assert said == refusal(program.pid)
        assert f"error: genba does not know the Python of process {program.pid}\n" in said and "built for musl; genba knows builds for glibc" in said
        assert "hint: genba knows CPython 3.11 to 3.15 (releases for x86-64 with glibc)" in said
        goes_on(program)
    with waiting([python, "-c", MAPS], cwd=tmp_path) as program:
        assert program.threads()
        goes_on(program)


def test_what_is_no_number_of_a_process(tmp_path: Path) -> None:
    # All else than a number is a file for genba heap.
    for verb, wrong in (("attach", ("abc", "0", "1.5")), ("dump", ("abc", "0", "1.5")), ("heap", ("0",)), ("doctor", ("abc", "0", "1.5"))):
        for word in wrong:
            done = subprocess.run([binary(), verb, word], capture_output=True, text=True, cwd=tmp_path, timeout=60)
            first, *_, last = done.stderr.splitlines()
            assert (done.returncode, done.stdout) == (2, ""), done
            assert f"'{word}'" in first and first.endswith("expected the number of a process; genba ps lists those of Python"), done.stderr
            assert last == f"hint: genba {verb} --help tells its options", done.stderr


@needs_root
def test_a_process_of_another_user(tmp_path: Path) -> None:
    folder = Path("/tmp") / f"genba-attach-{os.getpid()}"
    folder.mkdir()
    folder.chmod(0o777)
    try:
        command = Path(shutil.copy2(binary(), folder / "genba"))
        with subprocess.Popen([sys.executable, "-c", "print('ready', flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "ready\n"
            environment = {"XDG_CACHE_HOME": str(folder / "cache"), "PATH": os.environ["PATH"]}
            user = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/", "env": environment}
            said = plain(process.pid, folder, command=command, **user)
            assert f"error: genba may not look at process {process.pid}\n" in said and f"it belongs to user 0, genba runs as user {NOBODY}" in said
            process.communicate("\n", timeout=60)
            assert process.returncode == 0
    finally:
        shutil.rmtree(folder)


FILTERED = """\
import json, select, sys
exec(open(sys.argv[1]).read())
exec(TRAPS if sys.argv[2] == "trap" else FILTER.replace("0x00050000 | error", "0x80000000") if sys.argv[2] == "kill" else FILTER)
import errno
install(list(map(int, sys.argv[3].split(","))), errno.EPERM)
print("ready", flush=True)
def expected():
    return sum(number * number for number in range(5000))
while not select.select([sys.stdin], [], [], 0)[0]:
    total = expected()
print(json.dumps({"total": total}))
"""
# By the numbers of x86-64.
THREADS, MAPPING, PROTECTING, OPENING, NAMING = "56,435", "9", "10", "257", "157"


# A name that is no text in UTF-8: as the kernel cuts a long one within a letter.
NAMED = FILTERED.replace("print(", 'libc.prctl(15, b"na\\xc3", 0, 0, 0)\nprint(', 1)


@contextmanager
def filtered(workshop: Workshop, kind: str, numbers: str, text: str = FILTERED) -> Iterator[Program]:
    source = workshop.take(Path(__file__).parents[1] / "workshop/seccomp.py")
    command = [workshop.interpreter.path, workshop.write("filtered.py", text), source, kind, numbers]
    with running(workshop, command) as program:
        yield program


@few
@pytest.mark.parametrize("numbers", [THREADS, MAPPING, PROTECTING, OPENING], ids=["clone", "mmap", "mprotect", "openat"])
def test_a_seccomp_filter_that_says_no(workshop: Workshop, numbers: str) -> None:
    with filtered(workshop, "no", numbers) as program:
        before = state(program)
        refused(program, "seccomp")
        assert until(lambda: state(program) == before), (state(program), before)
        assert program.end() == COUNTED


@few
@pytest.mark.parametrize("kind", ["kill", "trap"])
@pytest.mark.parametrize("numbers", [THREADS, NAMING], ids=["clone", "prctl"])
def test_a_seccomp_filter_that_ends_the_program(workshop: Workshop, kind: str, numbers: str) -> None:
    """genba reads the filter and refuses before it has written anything."""
    what = {"kill": "would end the process", "trap": "would raise SIGSYS"}[kind]
    name = {THREADS: "clone", NAMING: "prctl"}[numbers]
    with filtered(workshop, kind, numbers) as program:
        before = state(program)
        refused(program, "seccomp", what, name)
        assert state(program) == before
        assert program.end() == COUNTED


@few
def test_a_filter_of_a_thread_whose_name_is_no_text(workshop: Workshop) -> None:
    """The file that tells of its filters has that name in it."""
    with filtered(workshop, "kill", THREADS, NAMED) as program:
        with pytest.raises(UnicodeDecodeError):
            Path(f"/proc/{program.pid}/status").read_text(encoding="utf-8")
        refused(program, "seccomp", "would end the process", "clone")
        assert program.end() == COUNTED


CROWD = """\
import json, select, sys, threading
exec(open(sys.argv[1]).read())
exec(FILTER)
import errno
install([167], errno.EPERM)
threading.stack_size(256 * 1024)
over = threading.Event()
threads = [threading.Thread(target=over.wait) for _ in range(800)]
for thread in threads: thread.start()
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    total = sum(number * number for number in range(5000))
over.set()
for thread in threads: thread.join()
print(json.dumps({"total": total}))
"""


@on("3.11", "3.13", "3.15", "3.14-standalone")
def test_more_threads_with_a_filter_than_one_stop_asks(workshop: Workshop) -> None:
    """The filter forbids `swapon`, which genba does not call. All are asked before one of them is used, in as many stops as that takes, also
    in a build by BOLT, where genba otherwise looks at threads for 0.1 s only, and then asks by `sys.remote_exec`."""
    with filtered(workshop, "no", "", CROWD) as program:
        run = program.recorded("crowd.genba", "--duration", "200ms")
        assert re.search(r"^recording process \d+: (it was asked by sys\.remote_exec; )?801 threads were held for ", run.stderr, re.MULTILINE), run.stderr
        assert program.end() == COUNTED


STRICT = """\
import ctypes, sys
# With the GIL held: giving it up and taking it again may make calls of its own.
call, prctl = ctypes.PyDLL(None).syscall, ctypes.PyDLL(None).prctl
arguments = [ctypes.c_long(number) for number in (22, 1, 0, 0, 0)]
read = ctypes.c_long(0), ctypes.c_long(0), ctypes.create_string_buffer(1), ctypes.c_long(1)
number, code = ctypes.c_long(60), ctypes.c_long(7)
print("ready", flush=True)
prctl(*arguments)
call(*read)
call(number, code)
"""


@few
def test_seccomp_s_strict_mode(workshop: Workshop) -> None:
    with running(workshop, [workshop.interpreter.path, workshop.write("strict.py", STRICT)]) as program:
        assert until(lambda: program.status("Seccomp") == 1)
        refused(program, "seccomp", "strict")
        program.process.communicate("x", timeout=60)
        assert program.process.returncode == 7
