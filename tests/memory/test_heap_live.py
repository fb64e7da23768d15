"""`genba heap --live-only`: what is left when all garbage is gone, while the garbage is still there.

Owns: programs with known garbage (tests/programs/wasted.py), and that a collection of the program's own leaves the same; more classes than there are rows.
"""

import json
import re
from collections import Counter

from compiled import package_folder
from entered import on, running
from recording import Workshop, genba
from running_program import started
from test_heap import WAYS, heap, heaped

WASTED = "tests/programs/wasted.py"


def counted(page: dict) -> Counter:
    found: Counter = Counter()
    for row in page["classes"]:
        found[row["module"], row["name"]] += row["count"]
    return found


def own(page: dict, names: dict) -> dict[str, int]:
    found = counted(page)
    return {name: found["__main__", name] for name in names}


def test_garbage_is_not_counted_and_stays(workshop: Workshop) -> None:
    with heaped(workshop, program=WASTED) as (program, expected):
        live, garbage = expected["live"], expected["garbage"]
        both = {name: live[name] + garbage[name] for name in live}
        for way in WAYS:
            page = heap(program, "--live-only", way)
            assert own(page, live) == live
            assert page["garbage"]["objects"] > sum(garbage.values()) and page["garbage"]["bytes"] > 16 * page["garbage"]["objects"]
            assert (page["objects"], page["bytes"]) == tuple(sum(row[key] for row in page["classes"]) for key in ("count", "bytes"))
            whole = heap(program, way)
            assert own(whole, live) == both and whole["garbage"] is None
        assert abs(whole["objects"] - page["objects"] - page["garbage"]["objects"]) <= 2
        # A collection of the program's own leaves as much, in all classes. A class in use knows its subclasses by weak references, until they are gone.
        left = heap(program, "--collect", "--in-place")
        assert own(left, live) == live
        in_live, in_left = counted(page), counted(left)
        differs = {name: in_live[name] - in_left[name] for name in in_live | in_left if abs(in_live[name] - in_left[name]) > 2}
        assert {name: count for name, count in differs.items() if count} in [{("weakref", "ReferenceType"): 30, ("builtins", "int"): 30}]
        # Whose finalizers ran: those of the garbage, once, and its weak references are not called, being garbage too.
        assert program.end() == {"ended": 30, "kept": 20, "running": True, "enabled": False}


def test_without_garbage_nothing_is_left_out(workshop: Workshop) -> None:
    with heaped(workshop) as (program, expected):
        page, whole = heap(program, "--live-only"), heap(program)
        assert {name: counted(page)[name] for name in counted(whole)} == counted(whole)
        assert (page["garbage"], own(page, expected["counts"])) == ({"objects": 0, "bytes": 0}, expected["counts"])


def test_what_an_array_in_garbage_holds_is_garbage(workshop: Workshop) -> None:
    folder = package_folder(workshop, "numpy")
    program_file = workshop.write(
        "arrays.py",
        "import gc, sys\nimport numpy\nclass Held: pass\nclass Kept(Held): pass\ngc.disable()\n"
        "def made(kind):\n    held = [kind(), numpy.array([[kind() for _ in range(5)] for _ in range(20)], dtype=object)]\n"
        "    records = numpy.zeros(10, dtype=[('flag', 'i1'), ('held', object)])\n    records['held'] = [kind() for _ in range(10)]\n"
        "    held += [held, held[1][::2], records]\n    return held\n"
        "kept = made(Kept)\nmade(Held)\nmixed = Kept()\nmade(Held)[1][0][0] = mixed\n"
        "print('ready', flush=True)\nsys.stdin.readline()\nprint(len(kept))\n",
    )
    environment = workshop.place.environment({"PYTHONPATH": folder, "OPENBLAS_NUM_THREADS": "1"})
    with running(workshop, [workshop.interpreter.path, program_file], env=environment) as program:
        page = heap(program, "--live-only")
        assert own(page, {"Held": 0, "Kept": 0}) == {"Held": 0, "Kept": 112}
        assert own(heap(program), {"Held": 0}) == {"Held": 221}
        assert page["garbage"]["objects"] >= 221 + 6
        assert program.end() == 5


@on("3.13")
def test_the_table_says_what_was_left_out(workshop: Workshop) -> None:
    with heaped(workshop, program=WASTED) as (program, _):
        done = genba("heap", str(program.pid), "--live-only")
        assert done.returncode == 0, done.stderr
        assert re.search(r"^garbage is not counted, and is still there: [\d,]+ objects, [\d.]+ kB$", done.stdout, re.MULTILINE), done.stdout
    with heaped(workshop) as (program, _):
        assert "garbage is not counted: there is none\n" in genba("heap", str(program.pid), "--live-only").stdout
    both = genba("heap", "1", "--live-only", "--collect")
    assert both.returncode == 2 and "cannot be used with" in both.stderr


# More classes than a walk has rows for.
CLASSES = 66_500
MANY = """
import gc, json, sys
class Held: pass
held = [Held() for _ in range(int(sys.argv[1]))]
gc.collect()
kept = [type("Many", (), {"__slots__": ("one",)})() for _ in held]
for one, one.one in zip(kept, held):
    pass
gc.collect()
print("ready {}", flush=True)
sys.stdin.readline()
print(json.dumps({"size": sys.getsizeof(kept[0])}), flush=True)
"""


@on("3.13")
def test_classes_beyond_the_last_row_count_together(workshop: Workshop) -> None:
    with started(workshop, workshop.write("many.py", MANY), str(CLASSES)) as program:
        others = []
        own, row = 0, {}
        for flags in (("--fork",), ("--in-place",), ("--live-only", "--fork")):
            page = heap(program, *flags)
            own = counted(page)["__main__", "Many"]
            (row,) = [row for row in page["classes"] if row["name"] is None]
            assert 0 < CLASSES - own <= row["count"], (own, row)
            assert counted(page)["__main__", "Held"] == CLASSES
            others.append((CLASSES - own, row["bytes"]))
        # Objects come in the order of their age there, so that classes of the interpreter have rows. None counts twice.
        assert row["count"] < 1.5 * (CLASSES - own), (own, row)
        # The way to an object is told through one of these classes, too.
        done = genba("heap", "refs", str(program.pid), "--class", "__main__.Held", "--sample", "2000", "--format", "json", "--fork")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["looked_at"] == 2_000
        size = program.end()["size"]
        assert all(bytes >= count * size for count, bytes in others), (others, size)
