"""Processes that drop their privileges: libc asks each of their threads to, genba's too, and waits for its answer. Before and after a fork, on every door."""

import os
import subprocess

import pytest

from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from recording import Workshop
from running_program import started, until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root has privileges to drop")

# What hangs ends by SIGALRM, whatever else the program does.
ALARM_SECONDS = 120
DROP = f"""
import os, signal, subprocess, sys, threading, time
signal.alarm({ALARM_SECONDS})

def burn(seconds=0.05):
    end = time.process_time() + seconds
    while time.process_time() < end: sum(range(300))

def drop():
    os.setgroups([65534]); os.setgid(65534); os.setuid(65534)
    return os.getgroups(), os.getresgid(), os.getresuid()

def tasks():
    for task in os.listdir("/proc/self/task"):
        try:
            yield task, open(f"/proc/self/task/{{task}}/status").read().splitlines()
        except OSError: pass

def blocking():
    found = set()
    for task, lines in tasks():
        blocked = int(next(line.split()[1] for line in lines if line.startswith("SigBlk")), 16)
        if blocked & (3 << 31): found.add((task, lines[0]))
    return found

def threads_that_never_answer():
    # A thread that begins blocks all signals until libc has made it.
    never, looks = blocking(), 0
    while never and looks < 2000:
        time.sleep(0.01)
        never &= blocking()
        looks += 1
    return sorted(name for _, name in never)

def in_child(work):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm({ALARM_SECONDS})
        os.write(write, repr(work()).encode())
        os._exit(0)
    os.close(write)
    said = b""
    while part := os.read(read, 4096): said += part
    assert os.waitpid(pid, 0)[1] == 0, said
    return said.decode()
burn()
"""
# Each prints what it would without genba.
PROGRAMS = {
    "alone": "print(drop(), threads_that_never_answer())",
    "in a child": "print(in_child(lambda: (burn(), drop(), threads_that_never_answer())))",
    "after a fork": "print(in_child(burn)); burn(); print(drop(), threads_that_never_answer())",
    "in a child of a child": "print(in_child(lambda: (burn(), in_child(lambda: (burn(), drop(), threads_that_never_answer())), drop())))",
    "a child's user": "print(subprocess.run(['id'], user=65534, group=65534, extra_groups=[65534], capture_output=True, text=True))",
    "with threads": """
stop = threading.Event()
threads = [threading.Thread(target=lambda: stop.wait(0.2) or burn()) for _ in range(3)]
[thread.start() for thread in threads]
print(in_child(lambda: (burn(), drop(), threads_that_never_answer())))
threads.append(threading.Thread(target=burn)); threads[-1].start()
print(drop(), threads_that_never_answer())
stop.set()
[thread.join() for thread in threads]
""",
    "a child each": "print([in_child(lambda: (burn(0.01), drop()))for _ in range(5)]); print(drop())",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_under_genba_run(workshop: Workshop, name: str) -> None:
    # Whoever loses its privileges here still has to write its recording.
    workshop.place.outside.chmod(0o777)
    program = workshop.write("drops.py", DROP + PROGRAMS[name] + "\n")
    alone = subprocess.run(
        workshop.place.command([workshop.interpreter.path, program]), env=workshop.place.environment({}), capture_output=True, text=True, timeout=180
    )
    assert alone.returncode == 0, alone.stderr
    run = workshop.run(program, flags=("--quiet",))
    assert (run.exit_code, run.stdout) == (0, alone.stdout), run.stderr


def test_in_a_program_that_had_threads_before(inside: Inside) -> None:
    """The first thread of a process opens libc's signals in it: genba's is not the first here."""
    words = "threading.Thread(target=burn).start()\nimport genba\nwith genba.record('own.genba'):\n    burn()\n"
    # Given back at once: what ends the recording lies where only root may look.
    words += "    os.setegid(65534); os.seteuid(65534); print(os.getegid(), os.geteuid(), threads_that_never_answer()); os.seteuid(0); os.setegid(0)\n"
    assert inside.said(DROP + words) == ["65534 65534 []"]


def test_while_genba_is_attached(workshop: Workshop) -> None:
    if workshop.interpreter.name == "3.14-standalone":
        pytest.skip("builds that BOLT made are attached to in tests/running")
    words = "print('ready', flush=True)\nwhile not any(lines[0].split()[1] == 'genba' for _, lines in tasks()): burn(0.01)\n"
    # The sampler that the attached thread made, before a fork makes another one.
    words += "burn(0.3)\nprint(threads_that_never_answer())\n"
    words += "print(in_child(lambda: (burn(), drop())), drop() and threads_that_never_answer(), flush=True)\n"
    with started(workshop, workshop.write("waits.py", DROP + words)) as program:
        attached = program.attach("attached.genba", "--duration", "30")
        assert attached.returncode == 0, attached.stderr
        assert until(lambda: program.process.poll() is not None)
        stdout, stderr = program.process.communicate()
    assert stdout == "[]\n(None, ([65534], (65534, 65534, 65534), (65534, 65534, 65534))) []\n", stderr


def test_in_a_child_of_a_program_that_records_itself(inside: Inside) -> None:
    """And its parent's threads, made anew after the fork."""
    words = "import warnings\nwarnings.simplefilter('ignore')\nimport genba\ngenba.start('own.genba', children=True)\nburn()\n"
    words += "print(in_child(lambda: (burn(), drop(), threads_that_never_answer())))\nburn()\nprint(threads_that_never_answer())\ngenba.stop()\n"
    assert inside.said(DROP + words) == ["(None, ([65534], (65534, 65534, 65534), (65534, 65534, 65534)), [])", "[]"]
