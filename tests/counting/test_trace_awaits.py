"""How often and how long coroutines waited (`genba pstats --awaits`), beside what the program itself measured around its awaits.

A sleep is never shorter than was asked for, and no wait is longer than what the program's own clock measured around it: no duration is judged.
"""

import re
import subprocess
from dataclasses import dataclass

from recording import RUN_SECONDS_MAX, Workshop, binary
from test_trace import traced

PROGRAM = """import asyncio, os, threading, time, types

measured = {"inner": 0.0, "outer": 0.0}

async def inner():
    began = time.monotonic()
    await asyncio.sleep(0.02)
    measured["inner"] += time.monotonic() - began

async def outer(times):
    began = time.monotonic()
    for _ in range(times):
        await inner()
    measured["outer"] += time.monotonic() - began

async def cancelled():
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        await asyncio.sleep(0)

async def asynchronous_generator():
    for number in range(5):
        yield number

def generator():
    for number in range(5):
        yield number

@types.coroutine
def old_coroutine():
    yield

async def never_goes_on():
    await old_coroutine()

async def main():
    await asyncio.gather(outer(3), outer(2))
    task = asyncio.create_task(cancelled())
    await asyncio.sleep(0)
    task.cancel()
    await task
    [number async for number in asynchronous_generator()]
    list(generator())

asyncio.run(main())
thread = threading.Thread(target=lambda: asyncio.run(outer(2)))
thread.start()
thread.join()
left = never_goes_on()
left.send(None)
print(measured["inner"], measured["outer"], flush=True)
# At its end the interpreter would close what is left.
os._exit(0)
"""
ROW = re.compile(r"^ +(\d+) +([\d.]+) +[\d.]+ +([\d.]+) \S+:\d+\((.+)\)$", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    awaits: int
    waited_s: float
    ran_s: float


def awaits(workshop: Workshop, *words: str) -> str:
    command = [str(binary()), "pstats", *words]
    done = subprocess.run(command, cwd=workshop.place.outside, capture_output=True, text=True, timeout=RUN_SECONDS_MAX)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(said: str) -> dict[str, Row]:
    return {name: Row(int(count), float(waited), float(ran)) for count, waited, ran, name in ROW.findall(said)}


def test_awaits_are_what_the_program_measured(workshop: Workshop) -> None:
    program = workshop.write("app.py", PROGRAM)
    done = traced(workshop, "-o", f"{workshop.place.inside}/app.prof", "--python", workshop.interpreter.path, program)
    assert done.returncode == 0, done.stderr
    said = awaits(workshop, "app.prof", "--awaits")
    found = rows(said)
    inner_s, outer_s = (float(word) for word in done.stdout.split())
    assert (found["inner"].awaits, found["outer"].awaits) == (7, 7), said
    # Printed with three digits. A sleep begins before its coroutine gives the loop its turn, and where others take the CPU in between, that part of it is no wait.
    for name, whole_s in (("inner", inner_s), ("outer", outer_s)):
        assert 7 * 0.02 <= found[name].waited_s + found[name].ran_s + 0.001, said
        assert found[name].waited_s <= whole_s + 0.0005, (said, whole_s)
    assert found["inner"].ran_s + found["inner"].waited_s <= inner_s + 0.001, (said, inner_s)
    # The exception that ends the sleep, and a turn of the loop.
    assert found["cancelled"].awaits == 2 and found["cancelled"].waited_s < 60, said
    assert found["never_goes_on"].awaits == found["old_coroutine"].awaits == 1, said
    assert "generator" not in said and "asynchronous_generator" not in said, said
    assert "(2 had not ended)" in said, said
    assert re.search(r"^\d+ awaits of coroutines are not in these times: genba pstats \S*app\.prof --awaits$", done.stderr, re.MULTILINE), done.stderr
    # The listing takes the shell's words, and the shell has it.
    assert list(rows(awaits(workshop, "app.prof", "--awaits", "1 inner"))) == [], "one row first, then a name"
    assert list(rows(awaits(workshop, "app.prof", "--awaits", "^.*inner 1"))) == ["inner"]
    shell = subprocess.run([str(binary()), "pstats", "app.prof"], input="awaits outer\n", cwd=workshop.place.outside, capture_output=True, text=True, timeout=RUN_SECONDS_MAX)
    assert rows(shell.stdout) == {"outer": found["outer"]}, shell.stdout


def test_a_task_that_is_cancelled_before_its_first_step_did_not_wait(workshop: Workshop) -> None:
    """It gets the exception at the beginning of its code, while others of the same function wait."""
    program = workshop.write(
        "early.py",
        "import asyncio\nasync def worker(seconds): await asyncio.sleep(seconds)\nasync def main():\n"
        "    waiting = [asyncio.create_task(worker(0.1)) for _ in range(3)]\n    await asyncio.sleep(0)\n"
        "    early = [asyncio.create_task(worker(9)) for _ in range(3)]\n    for task in early: task.cancel()\n"
        "    await asyncio.gather(*waiting, *early, return_exceptions=True)\nasyncio.run(main())\n",
    )
    done = traced(workshop, "-o", f"{workshop.place.inside}/early.prof", "--python", workshop.interpreter.path, program)
    assert done.returncode == 0, done.stderr
    found = rows(awaits(workshop, "early.prof", "--awaits"))
    # What a busy machine takes between the begin of a sleep and the turn of the loop is no wait.
    assert found["worker"].awaits == 3 and found["worker"].waited_s + found["worker"].ran_s >= 3 * 0.1 - 0.001, found


def test_a_coroutine_goes_on_where_what_it_awaits_takes_its_exception(workshop: Workshop) -> None:
    """CPython 3.11 tells no profiler that it goes on, only where it waits again or ends."""
    program = workshop.write(
        "taken.py",
        "import asyncio\nasync def takes():\n    try: await asyncio.sleep(60)\n    except asyncio.CancelledError: return 1\n"
        "async def outer():\n    await takes()\n    await asyncio.sleep(0.02)\n"
        "async def main():\n    task = asyncio.create_task(outer())\n    await asyncio.sleep(0)\n    task.cancel()\n    await task\n"
        "asyncio.run(main())\n",
    )
    done = traced(workshop, "-o", f"{workshop.place.inside}/taken.prof", "--python", workshop.interpreter.path, program)
    assert done.returncode == 0, done.stderr
    said = awaits(workshop, "taken.prof", "--awaits")
    found = rows(said)
    assert (found["outer"].awaits, found["takes"].awaits) == (2, 1) and "had not ended" not in said, said
    assert 0.02 <= found["outer"].waited_s + found["outer"].ran_s + 0.001 and found["outer"].waited_s < 60, said


def test_a_recording_of_several_processes_has_their_awaits(workshop: Workshop) -> None:
    text = "import asyncio, os\nasync def wait(): await asyncio.sleep(0.01)\npid = os.fork()\nasyncio.run(wait())\nif pid: os.waitpid(pid, 0)\n"
    program = workshop.write("two.py", text)
    done = traced(workshop, "-o", f"{workshop.place.inside}/two.genba", "--python", workshop.interpreter.path, program)
    assert done.returncode == 0, done.stderr
    found = rows(awaits(workshop, "two.genba", "--awaits"))
    assert found["wait"].awaits == 2 and found["wait"].waited_s > 0, found
    assert found["wait"].waited_s + found["wait"].ran_s >= 0.02 - 0.001, found
