"""`genba heap`: what each class's objects take, against what CPython and malloc say of them (tests/programs/sized_heap.py), and what no object explains.

Owns: the kinds of objects that own memory beside their block, on each layout. Never: takes a number of genba's for the truth.
"""

import json
import re

import pytest

from entered import on
from recording import Workshop, genba
from running_program import Program, started
from test_heap import WAYS, heap, heaped

SIZED = "tests/programs/sized_heap.py"
# What malloc gives beyond what it is asked for: up to 24 bytes a block, of which a gathering StringIO has three.
SLACK = 100
MB = 1_000_000


def rows(page: dict) -> dict[str, dict]:
    return {row["name"]: row for row in page["classes"] if row["module"] == "__main__"}


def taken(program: Program, *flags: str) -> dict[str, int]:
    return {name: row["bytes"] for name, row in rows(heap(program, *flags)).items()}


def test_each_class_takes_what_cpython_says(workshop: Workshop) -> None:
    with heaped(workshop, program=SIZED) as (program, expected):
        for way in WAYS:
            found = taken(program, way)
            assert {name: found[name] for name in expected["exact"]} == expected["exact"]
            for name, (bytes_, count) in expected["about"].items():
                assert abs(found[name] - bytes_) <= SLACK * count, (name, found[name], bytes_)
        # Every one of them is in use.
        live = taken(program, "--live-only")
        assert {name: live[name] for name in expected["exact"]} == expected["exact"]
        assert program.end() == {"kept": 11}


# The bytes of each instance, as tracemalloc has them where nothing else is allocated.
TRACED = """
import gc, json, _tracemalloc
gc.disable()
class Empty: pass
class Two:
    def __init__(self): self.one = self.two = None
class Words(list): pass
taken, kept = {}, []
for kind, count in (Empty, 3), (Two, 500), (Words, 500):
    made = [None] * count
    kept.append(made)
    taken[kind.__name__] = 0
    for place in range(count):
        _tracemalloc.start()
        made[place] = kind()
        traces = _tracemalloc._get_traces()
        _tracemalloc.stop()
        taken[kind.__name__] += sum(trace[1] for trace in traces)
print("ready", flush=True)
print(json.dumps(taken), flush=True)
input()
print("{}")
"""


@on("3.13", "3.14-standalone", "3.15")
def test_first_and_late_instances_take_what_tracemalloc_says(workshop: Workshop) -> None:
    """From 3.13 on an instance has its attributes in its block, with less room the later it was made."""
    with started(workshop, workshop.write("traced.py", TRACED)) as program:
        expected = json.loads(program.process.stdout.readline())
        found = taken(program)
        missing = {name: expected[name] - found[name] for name in expected}
        # The last instance that made room smaller is one that nothing tells from those behind it.
        assert missing["Empty"] == 0 and {missing["Two"], missing["Words"]} <= {0, 8}, (expected, found)
        assert program.end() == {}


def test_a_buffer_counts_once(workshop: Workshop) -> None:
    """What only a BytesIO has counts with it; what others have, too, is an object of its own."""
    text = "import io\nclass Alone(io.BytesIO): __slots__ = ()\nclass Shared(io.BytesIO): __slots__ = ()\nalone = [Alone(bytes(1_000_000)) for _ in range(3)]\n"
    text += "content = bytes(5_000_000)\nshared = [Shared(content) for _ in range(4)]\nonly = [Shared(bytes(7_000_000))]\nonly += [Shared(only[0].getvalue()) for _ in range(2)]\n"
    text += "print('ready', flush=True)\ninput()\nprint('{}')\n"
    with started(workshop, workshop.write("buffers.py", text)) as program:
        page = heap(program)
        found = rows(page)
        assert 3 * MB < found["Alone"]["bytes"] < 3 * MB + 1_000 and found["Shared"]["bytes"] < 1_000
        # Three BytesIO hold the second one, and nothing else does.
        (bytes_,) = (row["bytes"] for row in page["classes"] if (row["module"], row["name"]) == ("builtins", "bytes"))
        assert 12 * MB < bytes_ < 14 * MB
        live = heap(program, "--live-only")
        assert rows(live)["Alone"] == found["Alone"] and live["garbage"]["bytes"] < MB
        assert program.end() == {}


def test_large_objects_are_accounted_for(workshop: Workshop) -> None:
    with heaped(workshop, "large", program=SIZED) as (program, _):
        page = heap(program)
        assert page["bytes"] > 130 * MB and page["resident_bytes"] > page["bytes"] - 15 * MB
        assert 0 <= page["unaccounted_bytes"] < 30 * MB
        assert page["unaccounted_bytes"] == max(page["resident_bytes"] - page["resident_files_bytes"] - page["bytes"], 0)
        assert program.end() == {"kept": 6}


def test_what_no_object_explains_is_said(workshop: Workshop) -> None:
    with heaped(workshop, "large", "hidden", program=SIZED) as (program, _):
        page = heap(program)
        assert 60 * MB <= page["unaccounted_bytes"] < 90 * MB
        assert page["resident_bytes"] == pytest.approx(program.status("VmRSS") * 1024, abs=8 * MB)
        done = genba("heap", str(program.pid))
        line = re.search(r"^(\S+ MB) of (\S+ MB) resident belong to objects that genba sizes, \S+ MB to files such as libraries, (\S+ MB) to neither: ", done.stdout, re.MULTILINE)
        assert "objects that were not reached, and what its allocators keep\n" in done.stdout
        assert line and 60 <= float(line[3].split()[0]) < 90, done.stdout
        assert program.end() == {"kept": 6}


@on("3.11", "3.15")
def test_classes_that_own_more_are_marked(workshop: Workshop) -> None:
    with heaped(workshop, program=SIZED) as (program, _):
        page = heap(program)
        marked = {(row["module"], row["name"]) for row in page["classes"] if row["has_more"]}
        # Its `__sizeof__` is a function of C, and genba does not know the class. One that is written in Python is a word of the program's.
        assert ("_struct", "Struct") in marked
        assert not marked & {("__main__", name) for name in rows(page)} and not any(module == "builtins" for module, _ in marked), marked
        text = genba("heap", str(program.pid), "--top", "0").stdout
        assert re.search(r"  _struct\.Struct \+$", text, re.MULTILINE)
        assert "+: its objects own more memory than is shown" in text
        assert program.end() == {"kept": 11}


@on("3.13")
def test_a_heap_that_was_kept_before_is_still_read(workshop: Workshop) -> None:
    with heaped(workshop) as (program, _):
        page = heap(program)
    old = {key: value for key, value in page.items() if key not in ("resident_bytes", "resident_files_bytes", "unaccounted_bytes")}
    old["classes"] = [{key: value for key, value in row.items() if key != "has_more"} for row in page["classes"]]
    before, after = workshop.place.outside / "before.json", workshop.place.outside / "after.json"
    before.write_text(json.dumps(old))
    after.write_text(json.dumps(page))
    done = genba("heap", "diff", str(before), str(after))
    assert done.returncode == 0 and "no class changed" in done.stdout, done.stderr
    old["classes"] = [{**row, "count": 2**64 - 1, "bytes": 2**64 - 1, "name": "\x1b[31m"} for row in old["classes"]]
    before.write_text(json.dumps({**old, "python": "3\x1b[31m", "moment": "\x1b", "walked": "\x1b"}))
    done = genba("heap", str(before))
    assert done.returncode == 0 and "resident" not in done.stdout and "\x1b" not in done.stdout, done
