"""Garbage collections (`--gc`, `genba gc`): each one is there, with what the program itself is told of it, and the program sees nothing of that.

Owns: programs that keep count of their own collections. The program's own `gc.callbacks` and `gc.get_stats()` are the truth.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from entered import on, running
from recording import Run, Workshop, genba, genba_said
from running_program import until

# A program that logs what the collector tells it, and says it at its end.
LOGGING = """
import gc, json, sys, time

log = []

def own(phase, info):
    if phase == "stop":
        log.append([info["generation"], info["collected"], info["uncollectable"]])

gc.callbacks.append(own)

def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def cycles(count):
    for number in range(count):
        garbage = {}
        garbage["key"] = garbage

def told(**more):
    gc.disable()
    counts = [generation["collections"] for generation in gc.get_stats()]
    print(json.dumps({"log": log, "counts": counts, **more}), flush=True)
"""
# Recording begins within a few ms, once the interpreter runs; a machine that is busy takes longer, and then to compile unwind tables.
BEGUN = "busy(1)\n"


def collections(run: Run) -> dict[str, Any]:
    return json.loads(genba_said("gc", run.recording, "--format", "json"))


def recorded(workshop: Workshop, text: str, *flags: str) -> tuple[Run, dict[str, Any], dict[str, Any]]:
    program = workshop.write("collecting.py", LOGGING + text)
    run = workshop.run(program, flags=("--gc", *flags))
    assert run.exit_code == 0, run.stderr
    return run, json.loads(run.stdout.splitlines()[-1]), collections(run)


def until_it_tells(run: Run, reason: str) -> None:
    """Of a recording that grows: why a collection ran is not known before unwind tables are there."""

    def tells() -> bool:
        so_far = genba("gc", run.recording, "--format", "json")
        return so_far.returncode == 0 and any(row["reason"] == reason for row in json.loads(so_far.stdout)["collections"])

    assert until(tells, every_seconds=0.2), genba("gc", run.recording)


def of_generations(rows: list[dict[str, Any]]) -> list[int]:
    return [sum(row["generation"] == generation for row in rows) for generation in range(3)]


def test_each_collection_is_there_as_the_program_was_told(workshop: Workshop) -> None:
    _, told, found = recorded(
        workshop,
        BEGUN + "keep = []\nfor turn in range(30):\n    keep.append([[] for number in range(1000)])\n    cycles(500)\ngc.collect(0)\ngc.collect(1)\ngc.collect()\ntold()\n",
    )
    rows = [row for row in found["collections"] if row["reason"] != "shutdown"]
    assert sum(told["counts"]) == len(rows) + found["collections_before"] and found["collections_lost"] == 0
    assert len(told["log"]) > 20
    own = [[row[key] for key in ("generation", "collected", "uncollectable")] for row in rows]
    assert own[-len(told["log"]) :] == told["log"][-len(own) :]
    assert [row["generation"] for row in rows[-3:]] == [0, 1, 2]
    times = [row["time_ns"] for row in rows]
    assert times == sorted(times) and all(row["pause_ns"] > 0 for row in rows)
    # Only the last collection of all, of which nobody is told, is not there.
    assert [row["reason"] for row in found["collections"][len(rows) :]] == []


def test_collections_are_those_of_the_interpreter_s_own_ring(workshop: Workshop) -> None:
    """CPython 3.15 keeps its last collections itself: eleven young ones, three of each old generation, sums and times with them."""
    if workshop.interpreter.name != "3.15":
        pytest.skip("CPython keeps its own collections from 3.15 on")
    ring = "[[one.gen, one.ts_start, one.ts_stop, one.collections, one.collected, one.candidates] for one in _remote_debugging.get_gc_stats(os.getpid(), all_interpreters=False)]"
    _, told, found = recorded(
        workshop,
        "import _remote_debugging, os\n"
        + BEGUN
        + f"keep = []\nfor turn in range(30):\n    keep.append([[] for number in range(1000)])\n    cycles(300 + turn)\nfor generation in (1, 1, 1, 2, 2, 2):\n    cycles(400)\n    gc.collect(generation)\ngc.disable()\ntold(ring={ring})\n",
    )
    rows = [row for row in found["collections"] if row["reason"] != "shutdown"]
    compared = [0, 0, 0]
    for generation in range(3):
        own = [row for row in rows if row["generation"] == generation]
        kept = sorted((one for one in told["ring"] if one[0] == generation and one[3] > 0), key=lambda one: one[3])
        # The one before the first tells what the sums were.
        last = own[-len(kept) + 1 :] if len(kept) > 1 else []
        for before, one, row in zip(kept, kept[1:], last, strict=False):
            _, began_ns, ended_ns, number, collected, candidates = one
            compared[generation] += 1
            assert number == before[3] + 1, kept
            assert row["collected"] == collected - before[4], (row, one, before)
            if generation > 0:
                # Of a young one genba tells the counter that set it off. What CPython takes off its lists on the way is in one of the counts.
                assert abs(row["examined"] - (candidates - before[5])) <= 0.01 * row["examined"] + 10, (row, one, before)
            assert row["pause_ns"] >= ended_ns - began_ns, (row, one)
    # All that the rings hold but the first of each.
    assert compared[0] >= 9 and compared[1:] == [2, 2], (compared, told["ring"])


def test_reasons(workshop: Workshop) -> None:
    """5 by gc.collect, 3 by PyGC_Collect, 14 by the threshold, 1 when the interpreter ends."""
    _, told, found = recorded(
        workshop,
        BEGUN
        + """
import ctypes
gc.disable()
log.clear()
for turn in range(5):
    gc.collect(turn % 3)
gc.enable()
gc.set_threshold(100_000, 100, 100)
for turn in range(3):
    ctypes.pythonapi.PyGC_Collect()
keep = []
gc.set_threshold(500, 100, 100)
def make():
    while len(log) < 22:
        keep.append([])
make()
told()
gc.enable()
""",
    )
    assert len(told["log"]) == 22
    rows = found["collections"]
    last = [row["reason"] for row in rows][-23:]
    assert last == ["explicit"] * 5 + ["c call"] * 3 + ["threshold"] * 14 + ["shutdown"]
    threshold = [row for row in rows[:-1] if row["reason"] == "threshold"][-14:]
    assert {Path(row["file"]).name for row in threshold} == {"collecting.py"}
    text = (workshop.place.outside / "collecting.py").read_text().splitlines()
    ran_at = {text[row["line"] - 1].strip() for row in threshold}
    # Up to 3.11 in the allocation, later where the loop next looks.
    assert ran_at <= {"keep.append([])", "while len(log) < 22:"}
    assert [row["examined"] for row in threshold] == [pytest.approx(501, abs=30)] * 14


def test_the_program_sees_nothing_of_it(workshop: Workshop) -> None:
    text = (
        BEGUN
        + """
gc.collect()
seen = {
    "callbacks": len(gc.callbacks),
    "list": sys.getrefcount(gc.callbacks),
    "kinds": sorted({type(holder).__name__ for holder in gc.get_referrers(own)}),
    "strange": sorted({kind.__name__ for kind in map(type, gc.get_objects()) if "genba" in kind.__module__}),
    "builtins": sum(type(thing) is type(len) and thing.__name__ in ("first", "second") for thing in gc.get_objects()),
}
told(seen=seen)
"""
    )
    _, told, found = recorded(workshop, text)
    alone = workshop.run_target([workshop.interpreter.path, workshop.write("collecting.py", LOGGING + text)], flags=("--no-gc",))
    assert told["seen"] == json.loads(alone.stdout.splitlines()[-1])["seen"]
    assert found["collections"], "it was recorded meanwhile"


def test_the_programs_own_callbacks_keep_their_order(workshop: Workshop) -> None:
    """Added, removed, cleared, raising: as without genba."""
    text = (
        BEGUN
        + """
gc.disable()
order = []
unraisable = []
sys.unraisablehook = lambda info: unraisable.append(str(info.exc_value))
def one(phase, info): order.append("one " + phase)
def bad(phase, info):
    order.append("bad " + phase)
    raise ValueError("bad")
def two(phase, info): order.append("two " + phase)
gc.callbacks[:] = [one, bad, two]
gc.collect()
gc.callbacks.remove(bad)
gc.collect()
gc.callbacks.clear()
gc.collect()
gc.callbacks.append(two)
gc.collect()
gc.callbacks = [one]
gc.collect()
told(order=order, unraisable=unraisable)
"""
    )
    _, told, found = recorded(workshop, text)
    both = [f"{name} {phase}" for phase in ("start", "stop") for name in ("one", "two")]
    bad = [f"{name} {phase}" for phase in ("start", "stop") for name in ("one", "bad", "two")]
    assert told["order"] == [*bad, *both, "two start", "two stop", "two start", "two stop"]
    assert told["unraisable"] == ["bad", "bad"]
    assert [row["reason"] for row in found["collections"]][-5:] == ["explicit"] * 5


def test_a_forked_child_goes_on(workshop: Workshop) -> None:
    _, told, found = recorded(
        workshop,
        BEGUN
        + """
import os
gc.collect()
read, write = os.pipe()
pid = os.fork()
def counts():
    return sum(generation["collections"] for generation in gc.get_stats())
inherited = counts()
if pid == 0:
    # Some of these are over before the child's own recording has begun.
    cycles(3000)
    busy(0.5)
    gc.collect()
    busy(0.2)
    gc.collect()
    gc.disable()
    os.write(write, str(counts() - inherited).encode())
    os._exit(0)
child = int(os.read(read, 1000))
os.waitpid(pid, 0)
told(child=child)
""",
    )
    rows = [row for row in found["collections"] if row["reason"] != "shutdown"]
    # The child begins with its parent's counts, which are the parent's alone.
    assert sum(told["counts"]) + told["child"] == len(rows) + found["collections_before"] + found["collections_lost"]
    assert sum(row["reason"] == "explicit" for row in rows) == 3


def test_attach_records_and_leaves_nothing_behind(workshop: Workshop) -> None:
    """While collections are recorded genba's list holds what the program's list holds, too: one reference, which ends with the recording."""
    program = workshop.write(
        "waiting.py",
        LOGGING
        + """
import threading
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
alone = sys.getrefcount(own)
most = alone
print("ready", flush=True)
while not stop.is_set():
    cycles(1000)
    most = max(most, sys.getrefcount(own))
end = time.monotonic() + 60
while sys.getrefcount(own) != alone and time.monotonic() < end:
    busy(0.01)
told(alone=alone, most=most, left=sys.getrefcount(own))
""",
    )
    with running(workshop, [workshop.interpreter.path, program]) as target:
        with target.recording("attached.genba", "--gc") as run:
            until_it_tells(run, "threshold")
        told, found = target.end(), collections(run)
    assert told["most"] == told["alone"] + 1 and told["left"] == told["alone"]
    rows = found["collections"]
    # Until unwind tables are there, nothing tells why one ran.
    reasons = [row["reason"] for row in rows]
    rest = rows[reasons.index("threshold") :]
    assert set(reasons) <= {"threshold", "unknown"} and all(row["file"] is None for row in rest if row["reason"] == "unknown")
    own = [[row[key] for key in ("generation", "collected", "uncollectable")] for row in rows]
    assert any(told["log"][begin : begin + len(own)] == own for begin in range(len(told["log"]) - len(own) + 1))
    assert {Path(row["file"]).name for row in rows if row["file"]} == {"waiting.py"}


def test_the_threshold_that_is_advised_spares_the_collections(workshop: Workshop) -> None:
    text = "threshold = int(sys.argv[1])\nif threshold:\n    gc.set_threshold(threshold, 10, 10)\n" + BEGUN + "kept = []\nfor turn in range(20):\n    kept.append([[number] for number in range(2000)])\ntold()\n"
    program = workshop.write("requests.py", LOGGING + text)
    lines = [number for number, line in enumerate((LOGGING + text).splitlines(), 1) if "turn in" in line or "kept.append" in line]
    before = workshop.run(program, "0", flags=("--gc",))
    page = genba_said("gc", before.recording)
    threshold = re.search(r"gc\.set_threshold\((\d+)\) may spare all", page)[1]

    def within(run: Run) -> list[dict[str, Any]]:
        rows = collections(run)["collections"]
        return [row for row in rows if row["reason"] == "threshold" and row["line"] in lines and row["file"].endswith("requests.py")]

    assert len(within(before)) >= 10
    assert within(workshop.run(program, threshold, flags=("--gc",))) == []
    assert re.search(r"\d+ garbage collections: .* in all, .* % of .*; the longest .*, ran at ", page)
    # Each of them is in one bar of the histogram.
    bars = re.findall(r"^ *(?:below \d+ (?:µs|ms|s)|1 s and more)  ([█ ]{30})  ([\d,]+)$", page, re.MULTILINE)
    pauses = [int(count.replace(",", "")) for _, count in bars]
    assert sum(pauses) == len(collections(before)["collections"]), page
    assert all((bar == "█" * 30) >= (count == max(pauses)) for (bar, _), count in zip(bars, pauses, strict=True)), page


@pytest.mark.parametrize("how", ["forks", "starts", "stays"])
def test_freezing_is_advised_where_processes_fork(workshop: Workshop, how: str) -> None:
    """Full collections that look at a hundred thousand objects, all of which stay. Those after the fork would be spared, whoever began them."""
    text = BEGUN + "import os, subprocess\ngc.set_threshold(100, 2, 2)\nkept = [[number] for number in range(150_000)]\ngc.disable()\n"
    text += "if sys.argv[1] == 'forks':\n    if os.fork() == 0:\n        gc.collect()\n        gc.collect()\n        os._exit(0)\n    os.wait()\n"
    text += "if sys.argv[1] == 'starts':\n    subprocess.run([sys.executable, '-c', 'import gc; gc.collect()'], check=True)\ntold()\n"
    run = workshop.run(workshop.write("forking.py", LOGGING + text), how, flags=("--gc",))
    assert run.exit_code == 0, run.stderr
    full = [row for row in collections(run)["collections"] if row["generation"] == 2]
    assert sum(row["examined"] for row in full) > 10_000 * len(full) > 0
    # The parent's own at its end is one of them.
    spared = sum(row["reason"] in ("explicit", "shutdown") for row in full)
    page = genba_said("gc", run.recording)
    advice = re.search(r"^advice: after the first fork (\d+) full collections examined [\d,]+ objects, and nearly all of them stayed: gc\.freeze\(\) before that fork", page, re.MULTILINE)
    assert (advice is not None and int(advice[1]) == spared >= 2) if how == "forks" else advice is None, page


@on("3.11", "3.12", "3.13")
def test_what_cannot_be_freed_is_told(workshop: Workshop) -> None:
    """A class with `tp_del`, the finalizer that CPython calls at its own risk only: a cycle with an object of such a class stays."""
    run, told, found = recorded(
        workshop,
        BEGUN
        + """
import ctypes
class Stuck: pass
harmless = ctypes.cast(ctypes.pythonapi.Py_IsInitialized, ctypes.c_void_p)
# Its place is the same in each version.
ctypes.c_void_p.from_address(id(Stuck) + 376).value = harmless.value
one = Stuck()
one.itself = one
one = None
gc.collect()
told(garbage=len(gc.garbage))
""",
    )
    assert told["garbage"] == 1 and told["log"][-1][2] > 0
    last = [row for row in found["collections"] if row["reason"] == "explicit"][-1]
    assert [last[key] for key in ("generation", "collected", "uncollectable")] == told["log"][-1]
    assert f"\nnot freed: {told['log'][-1][2]} object" in genba_said("gc", run.recording)


def test_without_the_flag_there_are_none(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("collecting.py", LOGGING + "gc.collect()\ntold()\n"))
    done = genba("gc", run.recording)
    assert done.returncode == 1 and "only when that is asked for" in done.stderr and "hint: genba run --gc" in done.stderr


def test_why_there_are_none_although_they_were_asked_for(workshop: Workshop) -> None:
    # The collector goes on calling the list that it had.
    text = LOGGING + "gc.callbacks = []\nprint('ready', flush=True)\nimport select\nwhile not select.select([sys.stdin], [], [], 0.01)[0]:\n    cycles(2000)\ntold()\n"
    with running(workshop, [workshop.interpreter.path, workshop.write("replaced.py", text)]) as program:
        run = program.recorded("replaced.genba", "--gc", "--duration", "2s")
        assert program.end()["log"]
    done = genba("gc", run.recording)
    assert done.returncode == 1 and not done.stdout
    assert "they were asked for: gc.callbacks is not the list that the collector calls" in done.stderr, done.stderr
    assert "only when" not in done.stderr and "genba run --gc" not in done.stderr and "hint: " in done.stderr


IMPORTING = """
import _thread, json, sys, time
assert "gc" not in sys.modules
importlib, me = sys.modules["_frozen_importlib"], _thread.get_ident()
# Up to 3.11: between two lines of `_ModuleLock.acquire` of the import system, which removes in the end what it put there.
is_dict = type(importlib._blocking_on) is dict
if is_dict:
    importlib._blocking_on[me] = None
print("ready", flush=True)
end = time.monotonic() + 0.7
while time.monotonic() < end:
    pass
is_there = importlib._blocking_on.pop(me, "gone") is None if is_dict else True
while time.monotonic() < end + 0.7:
    [].append([])
import gc, select
# Until a line comes, when the recording has ended: genba may come late.
while not select.select([sys.stdin], [], [], 0)[0]:
    gc.collect()
print(json.dumps({"is_there": is_there}), flush=True)
"""


def test_an_import_of_the_programs_own_is_not_met(workshop: Workshop) -> None:
    """genba imports `gc` where the program has not: not while a thread of it is in the middle of the import system."""
    with running(workshop, [workshop.interpreter.path, workshop.write("importing.py", IMPORTING)]) as target:
        with target.recording("attached.genba", "--gc") as run:
            until_it_tells(run, "explicit")
        told = target.end()
    assert told["is_there"], told
