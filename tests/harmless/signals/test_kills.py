"""Signals to children of a recorded program: they come as they would without genba, and nobody waits for a child that cannot answer."""

from both_ways import same_both_ways
from recording import Workshop

KILLS = """
import errno, os, signal, subprocess, sys, time

def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: sum(range(100))

def fork(does):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        work(0.05)
        os.write(writing, b".")
        does()
        os._exit(0)
    os.close(writing)
    assert os.read(reading, 1) == b"."
    os.close(reading)
    return child

def forever():
    while True: work(1)

def handles(number):
    def tidy(*_): os._exit(7)
    # Set before the parent is told, since a handler that is missing would show.
    return lambda: (signal.signal(number, tidy), os.write(ready, b"."), forever())

def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

# Who runs the tests may ignore it (nohup), and children inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGABRT, signal.SIGHUP):
    child = fork(forever)
    os.kill(child, number)
    print(number.name, ended(child))
for number in (signal.SIGTERM, signal.SIGINT):
    told, ready = os.pipe()
    child = fork(handles(number))
    os.read(told, 1)
    os.kill(child, number)
    print(number.name, ended(child))
# Ended, and not waited for; gone; no such signal.
child = fork(lambda: None)
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
os.kill(child, signal.SIGTERM)
print(ended(child))
for target, number in ((child, signal.SIGTERM), (os.getpid(), 65)):
    try:
        os.kill(target, number)
    except OSError as failure:
        print(errno.errorcode[failure.errno])
# A group of two.
first = fork(lambda: (os.setpgid(0, 0), os.write(ready, b"."), forever()))
os.read(told, 1)
second = fork(lambda: (os.setpgid(0, first), os.write(ready, b"."), forever()))
os.read(told, 1)
os.killpg(first, signal.SIGTERM)
print(ended(first), ended(second))
"""

STOPPED = """
import json, os, resource, signal, time
child = os.fork()
if child == 0:
    while True: sum(range(1000))
def is_recorded():
    return any(open(f"/proc/{child}/task/{task}/comm").read() == "genba\\n" for task in os.listdir(f"/proc/{child}/task"))
while not is_recorded(): sum(range(1000))
until = time.monotonic() + 0.2
while time.monotonic() < until: sum(range(1000))
def waited():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
os.kill(child, signal.SIGSTOP)
os.waitpid(child, os.WUNTRACED)
waits = []
for _ in range(400):
    before, begun_ns = waited(), time.monotonic_ns()
    os.kill(child, signal.SIGTERM)
    waits.append([time.monotonic_ns() - begun_ns, waited() - before])
os.kill(child, signal.SIGCONT)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(waits))
"""

# Children that were recorded, and became a program that is not.
BECAME = """
import json, os, resource, signal, time
def waited():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
waits = []
for _ in range(15):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        until = time.process_time() + 0.05
        while time.process_time() < until: sum(range(100))
        # Only another program closes it.
        os.execv("/bin/sleep", ["sleep", "60"])
    os.close(writing)
    assert os.read(reading, 1) == b""
    os.close(reading)
    before = waited()
    os.kill(child, signal.SIGTERM)
    waits.append(waited() - before)
    os.waitpid(child, 0)
print(json.dumps(waits))
"""

ANSWER_NS_MAX = 5_000_000


def test_a_child_that_became_another_program_is_not_waited_for(workshop: Workshop) -> None:
    """Who waits goes to sleep, however busy the machine is; who loses the CPU to another does not. One that is waited for would be so each time;
    a page of genba's code that is not in memory, or a lock in the kernel, lets a single call sleep."""
    waits = workshop.run(workshop.write("became.py", BECAME)).answer()
    assert waits.count(0) > len(waits) * 2 // 3, waits


def test_signals_come_as_without(workshop: Workshop) -> None:
    same_both_ways(workshop, workshop.write("kills.py", KILLS))


def test_a_stopped_child_is_waited_for_once(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("stopped.py", STOPPED))
    code, waits_text = run.stdout.splitlines()
    waits = run.answer()
    assert code == "-15" and len(waits) == 400, waits_text
    # The first signal found it there, and waited. Of the others nearly none goes to sleep, as above.
    assert waits[0][0] >= ANSWER_NS_MAX, waits[:3]
    assert sum(sleeps == 0 for _, sleeps in waits) > len(waits) * 2 // 3, waits
