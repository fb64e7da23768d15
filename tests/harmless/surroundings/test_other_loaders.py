"""Children that cannot load genba's libraries: programs of musl and of 32 bits, however they are started, and scripts that they interpret; static and
setuid programs. They run as without genba, and the recording counts them, and a Python below them that is not in it."""

import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from built import PROGRAMS
from recording import Run, Workshop

# As crates/bells/src/programs.rs has it.
NAME_BYTES = 116

PROGRAM = """
import ctypes, os, subprocess, sys
here, other = sys.argv[1:]
libc = ctypes.CDLL(None)
libc.popen.restype, libc.pclose.argtypes = ctypes.c_void_p, [ctypes.c_void_p]

def in_child(start):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(write, 1); os.dup2(write, 2)
        start()
    os.close(write)
    said = open(read).read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said

def spawned(start):
    read, write = os.pipe()
    pid = start([(os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_DUP2, write, 2)])
    os.close(write)
    said = open(read).read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said

def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    return done.returncode, done.stdout, done.stderr

script = f"{here}/script"
with open(script, "w") as file: file.write(f"#!{other}\\n")
os.chmod(script, 0o755)
os.environ["PATH"] = f"{here}:{os.environ['PATH']}"
os.chdir(here)
print(run(other), run("./other"), run(other, close_fds=False), run(f"{other}; {other}", shell=True), run(script), run("other"))
print(in_child(lambda: os.execv(other, [other])), in_child(lambda: os.execvp("other", ["other"])), in_child(lambda: os.execve(other, [other], {"A": "1"})))
print(spawned(lambda actions: os.posix_spawn(other, [other], os.environ, file_actions=actions)))
print(spawned(lambda actions: os.posix_spawnp("other", ["other"], os.environ, file_actions=actions)))
print(run("env", "-u", "PATH", "/bin/sh", "-c", f"{other}; exec {script}"))
# libc's own: a shell, which starts it.
print(in_child(lambda: os._exit(os.waitstatus_to_exitcode(libc.system(other.encode())))))
print(in_child(lambda: os._exit(os.waitstatus_to_exitcode(libc.pclose(libc.popen(other.encode(), b"w"))))))
# A Python below a program of this libc is in the recording, as ever.
print(run(sys.executable, "-c", "end = __import__('time').process_time() + 0.1\\nwhile __import__('time').process_time() < end: pass"))
"""


@pytest.fixture(scope="session")
def of_musl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("musl-gcc") is None:
        pytest.skip("no musl-gcc (make prepare, as root)")
    folder = tmp_path_factory.mktemp("musl")
    (folder / "other.c").write_text(
        '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint main(void) { char *list = getenv("LD_PRELOAD"); puts(list && strstr(list, "genba") ? list : "hello"); }\n'
    )
    subprocess.run(["musl-gcc", "-O1", "-o", "other", "other.c"], cwd=folder, check=True)
    return folder / "other"


def test_programs_of_musl(workshop: Workshop, of_musl: Path) -> None:
    if workshop.interpreter.root is not None:
        pytest.skip("the Debian sid folder has no musl")
    assert_started_as_alone(workshop, workshop.take(of_musl), "musl")


# At 0x400054, behind the headers. Exit code 3 with a variable that begins with LD_P, else it says hello.
OF_32_BITS = bytes.fromhex(
    "8b0c24 8d748c08"  # esi: the environment, behind the words
    "8b06 85c0 7412"  # its next variable; behind the last one on to `hello`
    "83c604 81384c445f50 75ef bb03000000 eb18"
    "b804000000 bb01000000 b992004000 ba06000000 cd80 31db"  # write(1, 0x400092, 6)
    "b801000000 cd80"
)


@pytest.fixture
def of_32_bits(tmp_path: Path) -> Path:
    """One segment. With a loader it would need libraries that few machines have; what it is given does not depend on that."""
    code, base, path = OF_32_BITS + b"hello\n", 0x400000, tmp_path / "other"
    head = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + 84, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    path.write_bytes(head + struct.pack("<IIIIIIII", 1, 0, base, base, 84 + len(code), 84 + len(code), 5, 4096) + code)
    path.chmod(0o755)
    try:
        assert subprocess.run([path], env={"LD_PRELOAD": "/nowhere"}).returncode == 3
    except OSError as error:
        pytest.skip(f"this kernel runs no 32-bit programs: {error}")
    return path


def test_programs_of_32_bits(workshop: Workshop, of_32_bits: Path) -> None:
    if workshop.interpreter.root is not None:
        pytest.skip("the program alone is started outside of that root")
    assert_started_as_alone(workshop, workshop.take(of_32_bits), "32-bit")


def assert_started_as_alone(workshop: Workshop, other: str, reason: str) -> None:
    program = workshop.write("starts.py", PROGRAM)
    command = [workshop.interpreter.path, program, workshop.place.inside, other]
    alone = subprocess.run(command, env=workshop.place.environment({}), capture_output=True, text=True, timeout=60, cwd=workshop.place.outside)
    assert (alone.returncode, alone.stderr) == (0, "") and alone.stdout.count("hello") == 16, alone
    run = workshop.run_target(command, flags=("--quiet",))
    assert (run.exit_code, run.stdout, run.stderr) == (0, alone.stdout, "")
    assert len(run.profile()["processes"]) >= 2
    assert_counted(run, [(other, reason, 15), ("./other", reason, 1)])


@pytest.mark.parametrize("how", ["execl", "execlp", "execle"])
def test_a_program_of_musl_that_c_starts_by_a_list_of_words(workshop: Workshop, of_musl: Path, how: str) -> None:
    if workshop.interpreter.root is not None:
        pytest.skip("the Debian sid folder has no musl")
    subprocess.run(["cc", "-O1", "-w", str(PROGRAMS / "lists.c"), "-o", "lists"], cwd=workshop.place.outside, check=True)
    other = workshop.take(of_musl)
    program = "import subprocess, sys\nprint(subprocess.run(sys.argv[1:], capture_output=True, text=True).stdout)"
    run = workshop.run(workshop.write("starts.py", program), f"{workshop.place.inside}/lists", how, other)
    assert (run.exit_code, run.stdout) == (0, f"hello\n{how} 0\n\n"), run
    assert_counted(run, [(other, "musl", 1)])


def assert_counted(run: Run, programs: list[tuple[str, str, int]]) -> None:
    """Of a long path the recording has the end."""
    expected = [(name[-NAME_BYTES:], reason, count) for name, reason, count in programs]
    rows = run.report_json()["not_followed"]
    assert sorted((row["name"], row["reason"], row["count"]) for row in rows) == sorted(expected)
    assert not any(row["python"] for row in rows)
    for said in (run.report(), run.tree(), run.check().stdout):
        line = next(line for line in said.splitlines() if "not followed: " in line)
        for name, reason, count in expected:
            assert f"{name} ({reason})" + (f" × {count}" if count > 1 else "") in line, line


STATIC = """
#include <stdio.h>
int main(void) { puts("hello"); }
"""
STARTS = "import subprocess, sys\nfor name in sys.argv[1:]: print(subprocess.run([name], capture_output=True, text=True))"


def test_programs_that_ignore_what_is_preloaded(workshop: Workshop) -> None:
    (workshop.place.outside / "static.c").write_text(STATIC)
    subprocess.run(["gcc", "-static", "-o", "static", "static.c"], cwd=workshop.place.outside, check=True)
    names = [f"{workshop.place.inside}/static"]
    expected = [(names[0], "static", 1)]
    if os.getuid() == 0 and not os.statvfs(workshop.place.outside).f_flag & os.ST_NOSUID:
        # Another user's, who is not the one that runs it.
        shutil.copy(workshop.place.outside / "static", workshop.place.outside / "setuid")
        os.chown(workshop.place.outside / "setuid", 65534, 65534)
        os.chmod(workshop.place.outside / "setuid", 0o4755)
        names.append(f"{workshop.place.inside}/setuid")
        expected.append((names[1], "setuid", 1))
    command = [workshop.interpreter.path, workshop.write("starts.py", STARTS), *names]
    run = workshop.run_target(command, flags=("--quiet",))
    assert (run.exit_code, run.stderr, run.stdout.count("stdout='hello\\n', stderr=''")) == (0, "", len(names)), run
    assert_counted(run, expected)


def test_programs_of_musl_with_thousands_of_variables(workshop: Workshop, of_musl: Path) -> None:
    """However they are started, again and again; what genba does not give them it does not keep either."""
    if workshop.interpreter.root is not None:
        pytest.skip("the Debian sid folder has no musl")
    other = workshop.take(of_musl)
    program = """
import os, subprocess, sys
other = sys.argv[1]
many = {**os.environ, **{f"V{number}": "x" for number in range(5000)}}
def size(): return int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1])
print(subprocess.run([other], env=many, capture_output=True, text=True))
print(subprocess.run([other], env=many, capture_output=True, text=True, preexec_fn=lambda: None))
print(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn(other, [other], many), 0)[1]))
try: subprocess.run(["/nowhere/program"], env=many)
except FileNotFoundError as error: print(error.errno)
def grown():
    before = size()
    for _ in range(100): subprocess.run([other], env=many, capture_output=True)
    return size() - before
# What is kept of each adds up to 4,000 in every round. A table that doubles does so once.
print(min(grown() for _ in range(3)) < 1000)
"""
    command = [workshop.interpreter.path, workshop.write("many.py", program), other]
    alone = subprocess.run(command, env=workshop.place.environment({}), capture_output=True, text=True, timeout=60, cwd=workshop.place.outside)
    assert (alone.returncode, alone.stderr, alone.stdout.count("hello")) == (0, "", 3), alone
    run = workshop.run_target(command, flags=("--quiet",))
    assert (run.exit_code, run.stdout, run.stderr) == (0, alone.stdout, "")
    assert_counted(run, [(other, "musl", 303)])


BECOMES = "#include <unistd.h>\nint main(int count, char **words) { execv(words[1], words + 1); return 9; }\n"
BELOW = """
import subprocess, sys
becomes, work = sys.argv[1:]
print(subprocess.run([becomes, sys.executable, "-c", work], capture_output=True, text=True))
"""
WORK = "import time\nend = time.process_time() + 0.6\nwhile time.process_time() < end: sum(range(3000))\nprint('worked')\n"


@pytest.mark.parametrize("compiler", [("musl-gcc",), ("gcc", "-static")], ids=["musl", "static"])
def test_a_python_that_such_a_program_becomes(workshop: Workshop, compiler: tuple[str, ...]) -> None:
    """A static program hands genba's variables on. One of musl has none of them: what it becomes is named, with its time."""
    if workshop.interpreter.root is not None or shutil.which(compiler[0]) is None:
        pytest.skip(f"no {compiler[0]} here")
    (workshop.place.outside / "becomes.c").write_text(BECOMES)
    subprocess.run([*compiler, "-O1", "-o", "becomes", "becomes.c"], cwd=workshop.place.outside, check=True)
    becomes = f"{workshop.place.inside}/becomes"
    run = workshop.run(workshop.write("below.py", BELOW), becomes, WORK)
    assert run.exit_code == 0 and "returncode=0, stdout='worked\\n', stderr=''" in run.stdout, run
    rows = {(row["reason"], row["python"], row["count"]): row for row in run.report_json()["not_followed"]}
    if compiler[0] == "gcc":
        assert set(rows) == {("static", False, 1)} and len(run.profile()["processes"]) == 2, run.stderr
        return
    unfollowed = ("environment emptied or filtered", True, 1)
    assert set(rows) == {("musl", False, 1), unfollowed} and len(run.profile()["processes"]) == 1, run.stderr
    assert 0 < rows[unfollowed]["cpu_ns"] and "a Python of this run was not followed" in run.stderr, run.stderr
