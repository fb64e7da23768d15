"""`genba attach` to programs that are running: what it records is true, and the program, whose answers are compared with those it gives when nobody
looks, does not know it was there."""

import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from entered import on
from recording import Run, Workshop, binary
from running_program import Program, name_of, started, until, until_it_holds
from soak import SOAK

pytestmark = pytest.mark.measures

# How many, how long each records, and after how many no further memory is taken.
ROUNDS, ROUND_LASTS, SETTLED = (200, "2s", 10) if SOAK else (6, "100ms", 2)
# What the C library and genba's library may take once, and what further rounds may add.
MORE_KB_MAX = 1024


def test_round_after_round_leaves_the_program_as_it_was(workshop: Workshop) -> None:
    program_file = workshop.program("tests/programs/attached.py")
    with started(workshop, program_file) as alone:
        time.sleep(1)
        expected = alone.end()
    with started(workshop, program_file) as program:
        before, timers = program.state(), program.timers()
        run = program.recorded("first.genba", "--duration", "500ms")
        for number in range(1, ROUNDS):
            if number == SETTLED:
                # The library stays mapped.
                settled_kb, mapped = program.status("VmRSS"), program.mapped_files()
            program.recorded(f"round-{number % 4}.genba", "--duration", ROUND_LASTS, "--quiet")
        assert (program.state(), program.timers(), program.mapped_files()) == (before, timers, mapped)
        assert program.status("VmRSS") <= settled_kb + MORE_KB_MAX
        said = program.end()
    assert (said["digests"], said["total"]) == (expected["digests"], expected["total"])
    assert said["shortest_nap_ms"] >= 200
    # Debian's own build has no `squares` of another file; each of the three is on the screen.
    names = {frame.name for stack in run.collapsed("--weight", "wall") for frame in stack.frames}
    assert {"squares", "hashes", "naps"} <= {name.rpartition(".")[2] for name in names}, names
    assert re.search(r"^recording process \d+: 5 threads were held for [\d.]+ (µs|ms)", run.stderr, re.MULTILINE), run.stderr


def test_what_is_recorded_is_the_truth(workshop: Workshop) -> None:
    program_file = workshop.write(
        "slices.py",
        "import sys, select\nb = bytes(200_000)\nprint('ready', flush=True)\n"
        "while not select.select([sys.stdin], [], [], 0)[0]:\n    for i in range(200):\n        b[i:]\nprint('{}')\n",
    )
    with started(workshop, program_file) as program:
        run = program.recorded("slices.genba", "--duration", "1500ms", "--rate", "1000")
        assert program.end() == {}
    # The thread that genba made to come in is none of the program's, which has no other than its first.
    assert "thread ended" not in run.report_json()["processes"][0]["accounting"]["refused"]
    first = run.report_json()["rows"][0]
    assert first["expression"] == "b[i:]", first
    # Of what was sampled: on a busy machine the sampler itself may not get a CPU for a tenth of a second.
    assert first["cpu_ns"] >= 0.8 * run.profile().sum("cpu_ns"), first


def test_a_program_that_only_waits(workshop: Workshop) -> None:
    """It sits in one system call for all the time: that goes on where it was, and the recording says what it waits for. A wait for a CPU is none of it."""
    program_file = workshop.write(
        "waits.py",
        "import json, select, sys, time\ndef for_a_cpu_s(): return int(open('/proc/thread-self/schedstat').read().split()[1]) / 1e9\n"
        "sleeps = []\nprint('ready', flush=True)\nwhile not select.select([sys.stdin], [], [], 0)[0]:\n"
        "    before, waited_s = time.monotonic(), for_a_cpu_s()\n    time.sleep(3)\n"
        "    slept_s = time.monotonic() - before\n    sleeps.append([slept_s, for_a_cpu_s() - waited_s])\nprint(json.dumps({'sleeps': sleeps}))\n",
    )
    with started(workshop, program_file) as program:
        run = program.recorded("waits.genba", "--duration", "1s")
        sleeps = program.end()["sleeps"]
    # None is cut short; and one that begins anew when the recording ends lasts for a second more at least.
    assert all(3 <= slept_s < 3.5 + waited_s for slept_s, waited_s in sleeps), sleeps
    assert "time.sleep(3)" in run.report("--weight", "wall")


def test_children_that_are_there_and_those_that_come(workshop: Workshop) -> None:
    child = workshop.write("child.py", "import os\nparent = os.getppid()\nprint('begins', flush=True)\nwhile os.getppid() == parent:\n    sum(range(1000))\n")
    program_file = workshop.write(
        "parent.py",
        f"import subprocess, sys\ndef begun():\n    child = subprocess.Popen([sys.executable, {child!r}], stdout=subprocess.PIPE)\n    child.stdout.readline()\n"
        "    return child\nchildren = [begun()]\nprint('ready', flush=True)\nsys.stdin.readline()\nchildren.append(begun())\nsys.stdin.readline()\n"
        "for child in children:\n    child.kill()\n    child.wait()\nprint('{}')\n",
    )
    with started(workshop, program_file) as program:
        with program.recording("family.genba") as run:
            program.says("\n")
            until_it_holds(run, lambda profile: len(profile["processes"]) == 3)
        program.end()
    assert len(run.report_json()["processes"]) == 3


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGKILL])
def test_the_recording_ends_with_its_command(workshop: Workshop, signal_number: int) -> None:
    with started(workshop, workshop.program("tests/programs/attached.py")) as program:
        before = program.state()
        recording = workshop.place.outside / "ended.genba"
        command = [str(binary()), "attach", str(program.pid), "-o", str(recording)]
        environment = {**os.environ, **workshop.place.environment({})}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as genba:
            first = genba.stderr.readline()
            if not first.startswith("recording process"):
                genba.kill()
            assert first.startswith("recording process"), first
            until_it_holds(Run(0, "", "", recording), lambda profile: profile.sum("samples") > 0)
            genba.send_signal(signal_number)
            said = genba.communicate(timeout=60)[1]
        assert genba.returncode == (0 if signal_number == signal.SIGINT else -signal_number), said
        assert until(lambda: program.state() == before), (program.state(), before)
        program.end()
    if signal_number == signal.SIGINT:
        workshop.runs.append(Run(0, "", said, recording))
        assert re.search(r"^ticks ", said, re.MULTILINE), said


@on("3.13")
def test_the_file_for_heaps_of_a_killed_command_goes_with_the_next_one(workshop: Workshop) -> None:
    temporary = workshop.place.outside / "temporary"
    temporary.mkdir()
    environment = {**os.environ, **workshop.place.environment({"TMPDIR": str(temporary)})}

    def command(name: str, *flags: str) -> list[str]:
        return [str(binary()), "attach", str(program.pid), "-o", str(workshop.place.outside / name), "--quiet", *flags]

    with started(workshop, workshop.program("tests/programs/attached.py")) as program:
        before = program.state()
        with subprocess.Popen(command("killed.genba", "--heap-every", "60m"), env=environment) as genba:
            assert until(program.has_genba_thread)
            (left,) = temporary.glob("genba-heaps-*")
            os.utime(left, (0, 0))
            # It is needed as long as that genba lives.
            refused = subprocess.run(command("refused.genba"), env=environment, capture_output=True, text=True, timeout=60)
            assert (refused.returncode, "is being recorded already" in refused.stderr) == (1, True), refused
            assert left.exists()
            genba.kill()
        assert until(lambda: program.state() == before), (program.state(), before)
        assert left.exists()
        os.utime(left, (0, 0))
        done = subprocess.run(command("next.genba", "--duration", "100ms"), env=environment, capture_output=True, text=True, timeout=60)
        assert (done.returncode, list(temporary.iterdir())) == (0, []), done
        program.end()


def test_refusals(workshop: Workshop, tmp_path: Path) -> None:
    with started(workshop, workshop.program("tests/programs/attached.py")) as program, subprocess.Popen(["sleep", "60"]) as other:
        try:
            for pid, words in ((4_000_000, "there is no process 4000000"), (other.pid, f"process {other.pid} is not a Python process")):
                done = program.attach("refused.genba", pid=pid)
                assert (done.returncode, words in done.stderr, "hint: " in done.stderr) == (1, True, True), done.stderr
                assert not (workshop.place.outside / "refused.genba").exists()
            os.kill(program.pid, signal.SIGSTOP)
            done = program.attach("refused.genba")
            assert (done.returncode, f"process {program.pid} is stopped" in done.stderr) == (1, True), done.stderr
            os.kill(program.pid, signal.SIGCONT)
        finally:
            other.kill()
        program.end()


def test_what_is_recorded_already_is_left_alone(workshop: Workshop) -> None:
    program_file = workshop.write("recorded.py", "import os, sys\nprint('ready', os.getpid(), flush=True)\nsys.stdin.readline()\n")
    process = workshop.start([workshop.interpreter.path, program_file], ["-o", f"{workshop.place.inside}/run.genba"], {}, stdin=subprocess.PIPE)
    try:
        assert process.stdout.readline().startswith("ready")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        # Inside of a chroot genba is the chroot's own process.
        done = Program(process, workshop).attach("twice.genba", pid=int(children[0]))
        assert (done.returncode, "is being recorded already" in done.stderr) == (1, True), done.stderr
    finally:
        process.communicate("\n", timeout=60)


FORKS = """\
import json, os, select, sys
print("ready", flush=True)
forks = bad = 0
while forks <= 10 or not select.select([sys.stdin], [], [], 0)[0]:
    pid = os.fork()
    if pid == 0:
        import _decimal, zlib  # the dynamic linker loads them: its lock must be free in a child
        os._exit(0)
    bad += os.waitpid(pid, 0)[1] != 0
    forks += 1
print(json.dumps({"bad": bad}))
"""


def test_a_program_that_forks_all_the_time(workshop: Workshop) -> None:
    with started(workshop, workshop.write("forks.py", FORKS)) as program:
        for number in range(3):
            program.recorded(f"forks-{number}.genba", "--duration", "300ms", "--quiet", "--no-children")
        assert program.end() == {"bad": 0}


THREADS = """\
import json, select, sys, threading
print("ready", flush=True)
sums, rounds = set(), 0
def adds(count):
    sums.add(sum(range(count)))
while rounds <= 10 or not select.select([sys.stdin], [], [], 0)[0]:
    threads = [threading.Thread(target=adds, args=(1000,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rounds += 1
print(json.dumps({"sums": list(sums)}))
"""


def test_a_program_that_starts_and_ends_threads_all_the_time(workshop: Workshop) -> None:
    with started(workshop, workshop.write("threads.py", THREADS)) as program:
        for number in range(3):
            program.recorded(f"threads-{number}.genba", "--duration", "300ms", "--quiet")
        assert program.end() == {"sums": [sum(range(1000))]}


SHORT_LIVED = """\
import os, select, sys
print("ready", flush=True)
children = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    pid = os.fork()
    if pid == 0:
        # Some end while genba looks at them, at any moment of their end.
        sum(range(children % 40 * 10_000))
        os._exit(0)
    os.waitpid(pid, 0)
    children += 1
print("{}")
"""


def test_children_that_end_at_once_are_one_line(workshop: Workshop) -> None:
    workshop.may_be_unfinished = True
    with started(workshop, workshop.write("short_lived.py", SHORT_LIVED)) as program:
        done = program.attach("short-lived.genba", "--duration", "4s")
        assert done.returncode == 0, done.stderr
        program.end()
    assert not re.search(r"process \d+ is not recorded", done.stderr), done.stderr
    assert done.stderr.count("not recorded: ") <= 1, done.stderr


def test_one_long_call_into_c(workshop: Workshop) -> None:
    """The interpreter is not reached for seconds: genba enters all the same, but not code that BOLT made."""
    program_file = workshop.write(
        "long.py", "import hashlib, sys\nprint('ready', flush=True)\nhashlib.pbkdf2_hmac('sha256', b'x', b'y', 400_000_000)\n"
    )
    with started(workshop, program_file) as program:
        done = program.attach("long.genba", "--duration", "1s")
        assert program.process.poll() is None
    if workshop.interpreter.has_tail_calls:
        assert (done.returncode, "its main thread runs no Python code" in done.stderr) == (1, True), done.stderr
        return
    assert done.returncode == 0, done.stderr
    first = workshop.runs[-1].report_json()["rows"][0]
    assert first["expression"].startswith("hashlib.pbkdf2_hmac("), first


def test_a_process_that_another_one_traces(workshop: Workshop) -> None:
    with started(workshop, workshop.program("tests/programs/attached.py")) as program:
        with traced(program) as tracer:
            done = program.attach("traced.genba", "--duration", "300ms")
            if workshop.interpreter.has_tail_calls:
                # Only ptrace gives its threads a stack for signals.
                assert (done.returncode, "does not bear signals everywhere" in done.stderr) == (1, True), done.stderr
            else:
                assert (done.returncode, f"process {program.pid} is traced by process {tracer}" in done.stderr) == (1, True), done.stderr
        assert until(lambda: program.status("TracerPid") == 0)
        program.recorded("after.genba", "--duration", "100ms", "--quiet")
        program.end()


def test_a_traced_process_is_asked_where_its_python_can_be(workshop: Workshop) -> None:
    """genba runs where the program does, in the same root: `sys.remote_exec` needs no ptrace."""
    if workshop.interpreter.root is None or workshop.interpreter.minor_number < 14:
        pytest.skip("before 3.14 nobody can be asked; the standalone build needs ptrace")
    place = workshop.place
    with started(workshop, workshop.program("tests/programs/attached.py")) as program, traced(program) as tracer:
        threads, caught, descriptors, _ = program.state()
        for number in range(2):
            command = place.command([place.genba_inside, "attach", str(program.pid), "-o", f"{place.inside}/asked-{number}.genba", "--duration", "500ms"])
            done = subprocess.run(command, cwd=place.outside, env=place.environment({}), capture_output=True, text=True, timeout=120, umask=0)
            assert done.returncode == 0, done.stderr
            assert f"recording process {program.pid}: it was asked by sys.remote_exec, no thread was held" in done.stderr, done.stderr
            run = Run(0, "", done.stderr, place.outside / f"asked-{number}.genba")
            workshop.runs.append(run)
        assert until(lambda: (program.status("Threads"), program.status("SigCgt"), program.has_genba_thread()) == (threads, caught, False)), program.state()
        # libffi, which `_ctypes` loads, keeps its own file open.
        more = [os.readlink(f"/proc/{program.pid}/fd/{number}") for number in program.descriptors() - descriptors]
        assert [Path(link).name.split(".")[0] for link in more] == ["libffi"], more
        assert program.status("TracerPid") == tracer
        assert [frame.name for stack in run.collapsed("--weight", "wall") for frame in stack.frames if frame.name.endswith("squares")]
        # Neither the script nor its folder stays.
        assert not list(place.interpreter.root.glob("tmp/genba-asked-*"))


SHARED = [(name, "function", 10 + getattr(signal, name)) for name in ("SIGHUP", "SIGINT", "SIGTERM")]
SHARED += [("SIGTERM", kind, 10 + signal.SIGTERM) for kind in ("method", "instance", "partial")]


@pytest.mark.parametrize(("name", "kind", "code"), [("SIGINT", "default", 3), *SHARED])
def test_a_signal_that_comes_while_the_script_runs_is_the_program_s(workshop: Workshop, name: str, kind: str, code: int) -> None:
    """The handler raises in the midst of genba's script: the program ends as it does without genba, and nothing is printed."""
    if workshop.interpreter.root is None or workshop.interpreter.minor_number < 14:
        pytest.skip("before 3.14 nobody can be asked; the standalone build needs ptrace")
    place = workshop.place
    with started(workshop, workshop.program("tests/programs/interrupted.py"), name, kind) as program, traced(program):
        command = place.command([place.genba_inside, "attach", str(program.pid), "-o", f"{place.inside}/interrupted.genba", "--duration", "10s"])
        done = subprocess.run(command, cwd=place.outside, env=place.environment({}), capture_output=True, text=True, timeout=120)
        assert done.returncode == 1, done.stderr
        assert program.process.wait(timeout=60) == code


@dataclass
class Counted(Program):
    """The program that a `genba trace` has started."""

    child: int

    @property
    def pid(self) -> int:
        return self.child


def test_whoever_is_asked_gives_the_agent_s_own_reason(workshop: Workshop) -> None:
    """By a thread that genba sends, and by the program's main thread (`sys.remote_exec`)."""
    place = workshop.place
    text = "import os, select, sys\nprint(os.getpid(), flush=True)\nwhile not select.select([sys.stdin], [], [], 0.01)[0]: pass\n"
    words = "trace", "-o", f"{place.inside}/counted.prof", "--python", workshop.interpreter.path, workshop.write("counted.py", text)
    command = place.command([place.genba_inside, *words])
    reason = "  the calls of this process are being counted: samples and exact counts exclude each other\n"
    with subprocess.Popen(command, cwd=place.outside, env=place.environment({}), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as counting:
        program = Counted(counting, workshop, int(counting.stdout.readline()))
        done = program.attach("refused.genba", "--duration", "100ms")
        assert (done.returncode, reason in done.stderr) == (1, True), done.stderr
        if workshop.interpreter.root and workshop.interpreter.minor_number >= 14:
            with traced(program):
                command = place.command([place.genba_inside, "attach", str(program.pid), "-o", f"{place.inside}/refused.genba"])
                done = subprocess.run(command, cwd=place.outside, env=place.environment({}), capture_output=True, text=True, timeout=120, umask=0)
            assert (done.returncode, reason in done.stderr) == (1, True), done.stderr
        counting.communicate("\n", timeout=60)
    assert counting.returncode == 0 and not (place.outside / "refused.genba").exists()


def test_a_tracer_that_stops_it_for_moments_does_not_make_it_a_stopped_one(workshop: Workshop) -> None:
    text = "import os, select, sys\nprint('ready', flush=True)\nwhile not select.select([sys.stdin], [], [], 0)[0]: os.getppid()\nsys.stdin.readline()\nprint('{}')\n"
    with started(workshop, workshop.write("calls.py", text)) as program, traced(program):
        for number in range(4):
            done = program.attach(f"calls-{number}.genba", "--duration", "50ms")
            assert "is stopped" not in done.stderr, done.stderr
    with started(workshop, workshop.write("calls.py", text)) as program:
        os.kill(program.pid, signal.SIGSTOP)
        assert until(lambda: "State:\tT" in Path(f"/proc/{program.pid}/status").read_text())
        with traced(program) as tracer:
            done = program.attach("held.genba", "--duration", "50ms")
            assert done.returncode == 1 and f"by process {tracer}" in done.stderr, done.stderr
        os.kill(program.pid, signal.SIGCONT)
        program.end()


@contextmanager
def traced(program: Program) -> Iterator[int]:
    """While strace traces it. The pid of strace."""
    with subprocess.Popen(["strace", "-q", "-e", "none", "-p", str(program.pid)], stderr=subprocess.DEVNULL) as strace:
        try:
            assert until(lambda: program.status("TracerPid") == strace.pid)
            yield strace.pid
        finally:
            strace.terminate()


def test_who_does_not_come_to_run_python_code_is_not_waited_for_without_end(workshop: Workshop) -> None:
    """Where BOLT made Python, a thread that makes no system call is not used, so the main thread is asked."""
    if not workshop.interpreter.has_tail_calls:
        pytest.skip("one of its threads can be used")
    call = "hashlib.pbkdf2_hmac('sha256', b'x', b'y', ROUNDS)"
    program_file = workshop.write(
        "blocked.py",
        "import hashlib, sys, time\nROUNDS = 1_000_000\nbefore = time.process_time()\n"
        f"{call}\nROUNDS = int(ROUNDS * 20 / (time.process_time() - before))\nprint('ready', flush=True)\n{call}\nsys.stdin.readline()\nprint('{{}}')\n",
    )
    with started(workshop, program_file) as program:
        done = program.attach("blocked.genba", "--duration", "300ms", umask=0)
        assert (done.returncode, "its main thread runs no Python code" in done.stderr) == (1, True), done.stderr
        (folder,) = re.findall(r"^  (/\S+) stays until then", done.stderr, re.MULTILINE)
        # Whatever the umask is, nobody else may put code there that this program would run.
        assert [(path.name, path.stat().st_mode & 0o777) for path in (Path(folder), *Path(folder).iterdir())] == [(Path(folder).name, 0o700), ("begin.py", 0o600)]
        stdout, stderr = program.process.communicate("\n", timeout=120)
        # What it runs after all does nothing but remove itself.
        assert not Path(folder).exists()
        assert (program.process.returncode, stdout, stderr) == (0, "{}\n", "")


def test_who_is_asked_and_ends_before_it_answers(workshop: Workshop) -> None:
    if not workshop.interpreter.has_tail_calls:
        pytest.skip("one of its threads can be used")
    temporary = workshop.place.outside / "temporary"
    temporary.mkdir()
    text = "import hashlib\nprint('ready', flush=True)\nhashlib.pbkdf2_hmac('sha256', b'x', b'y', 400_000_000)\n"
    with started(workshop, workshop.write("killed.py", text)) as program:
        command = [str(binary()), "attach", str(program.pid), "-o", str(workshop.place.outside / "killed.genba")]
        environment = {**os.environ, **workshop.place.environment({"TMPDIR": str(temporary)})}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as genba:
            assert until(lambda: bool(list(temporary.glob("genba-asked-*/begin.py"))))
            program.process.kill()
            program.process.wait(timeout=60)
            said = genba.communicate(timeout=60)[1]
    assert (genba.returncode, said.splitlines()[0]) == (1, f"error: process {program.pid} ended while genba looked at it"), said
    assert "hint: " in said and not list(temporary.iterdir())


def test_the_main_thread_is_asked_where_no_thread_can_be_used(workshop: Workshop) -> None:
    if not workshop.interpreter.has_tail_calls:
        pytest.skip("one of its threads can be used")
    program_file = workshop.write("squares.py", "import sys\nprint('ready', flush=True)\nx = 0\nwhile True:\n    x += x * x % 7\n")
    with started(workshop, program_file) as program:
        done = program.attach("squares.genba", "--duration", "300ms")
        assert (done.returncode, "it was asked by sys.remote_exec" in done.stderr) == (0, True), done.stderr
        assert workshop.runs[-1].report_json()["rows"][0]["file"].endswith("squares.py")
        assert program.process.poll() is None


def test_a_python_that_bears_signals_only_on_another_stack(workshop: Workshop) -> None:
    """Its threads are in functions that a signal on their own stack ends, and genba may be killed at any moment."""
    if not workshop.interpreter.has_tail_calls:
        pytest.skip("BOLT did not make this Python")
    program_file = workshop.program("tests/programs/hashes.py")
    with started(workshop, program_file) as program:
        unseen = program.end()
    chance = random.Random(3)
    with started(workshop, program_file) as program:
        before = program.status("SigCgt")
        mapped = []
        for number in range(ROUNDS):
            command = [str(binary()), "attach", str(program.pid), "-o", str(workshop.place.outside / f"killed-{number}.genba"), "--quiet"]
            with subprocess.Popen(command, stderr=subprocess.DEVNULL) as genba:
                time.sleep(chance.uniform(0, 0.2))
                genba.kill()
            assert until(lambda: not program.has_genba_thread())
            run = program.recorded("hashes.genba", "--duration", "500ms", "--rate", "1000", "--quiet")
            run.check_laws()
            rows = run.report_json()["rows"]
            assert {"hashlib.blake2b(DATA)", "_sha2.sha512(DATA)"} & {row["expression"] for row in rows}, rows
            # Threads that ended have given their stacks back.
            mapped.append(len(Path(f"/proc/{program.pid}/maps").read_text().splitlines()))
        assert mapped[-1] < mapped[0] + 40, mapped
        assert (program.status("SigCgt"), program.end()) == (before, unseen)
    said = run.report_json()["accounting"]["refused"]
    assert said.get("no signal stack", 0) < run.report_json()["accounting"]["ticks"] / 2, said


LATE_FILTER = """\
import json, select, sys, threading
exec(open(sys.argv[1]).read())
def filtered():
    install([219], 0, 0)
    json.dumps(select.poll().poll(1500))
exec(FILTER.replace("0x00050000 | error", "0x80000000"))
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0.1)[0]:
    pass
late = threading.Thread(target=filtered)
late.start()
late.join()
print(json.dumps("unharmed"))
"""


def test_a_thread_that_gets_a_filter_during_the_recording(workshop: Workshop) -> None:
    """Its wait is cut short while it is sent for a stack; a filter ends the program at `restart_syscall`, which would let the wait go on."""
    if not workshop.interpreter.has_tail_calls:
        pytest.skip("BOLT did not make this Python")
    source = workshop.take(Path(__file__).parents[1] / "workshop/seccomp.py")
    target = [workshop.interpreter.path, workshop.write("late.py", LATE_FILTER), source]
    command = [str(binary()), "attach", "-o", str(workshop.place.outside / "late.genba"), "--quiet"]
    with subprocess.Popen(target, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == "ready\n"
        with subprocess.Popen([*command, str(program.pid)], stderr=subprocess.PIPE) as genba:
            tasks = Path(f"/proc/{program.pid}/task")
            try:
                assert until(lambda: any(name_of(task) == "genba" for task in tasks.iterdir()))
                said = program.communicate("\n", timeout=60)[0]
            finally:
                program.kill()
                genba.send_signal(signal.SIGINT)
                genba.communicate(timeout=60)
    assert (program.returncode, said) == (0, '"unharmed"\n')
