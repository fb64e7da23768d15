"""`genba gc cycles`: which garbage in cycles waits, what breaks it, and that it is as much as a collection then finds (tests/programs/cycled.py).

Owns: each kind of cycle with the names along it, and the number that `gc.collect()` returns there; a very long one. Never: collects before genba
has looked.
"""

import json
import re

import pytest

from entered import on
from recording import Workshop, genba, genba_said
from running_program import Program
from soak import SOAK
from test_heap import WAYS, counts, heap, heaped

CYCLED = "tests/programs/cycled.py"
# By kind: objects of the cycle, its references, and what to drop.
KINDS = {
    "key": (1, {'dict["key"] → dict'}, "the dict's key 'key'"),
    "two_dicts": (2, {'dict["child"] → dict', 'dict["parent"] → dict'}, "the dict's key 'child'"),
    "slots": (2, {"Slotted.other → Slotted"}, "Slotted.other"),
    "circle": (5, {"list[…] → list"}, "the list's items"),
    "in_tuple": (2, {"list[…] → tuple", "tuple[…] → list"}, "the list's items"),
    "closure": (3, {"function.__closure__ → tuple", "tuple[…] → cell", "cell.cell_contents → function"}, "the variable that the closure holds"),
    "weak": (1, {"Held.itself → Held"}, "Held.itself"),
    "ends": (1, {"Ends.itself → Ends"}, "Ends.itself"),
}


def cycles(program: Program, *flags: str) -> dict:
    done = genba("gc", "cycles", str(program.pid), "--format", "json", *flags)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def said(program: Program, *flags: str) -> str:
    done = genba("gc", "cycles", str(program.pid), *flags)
    assert done.returncode == 0, done.stderr
    return done.stdout


def graphs(text: str) -> list[dict]:
    """Of each kind: cycles, objects, its references with their counts, and the line that breaks it."""
    found = []
    for block in text.split("\n\n")[1:]:
        head = re.match(r"([\d,]+) cycles? of (?:([\d,]+) objects?)(?: each)?", block)
        if head:
            rows = {words: int(count.replace(",", "")) for count, words in re.findall(r"^ +([\d,]+)  (.+)$", block, re.MULTILINE)}
            line = re.search(r"^    break it: drop (.*)$", block, re.MULTILINE)
            found.append({"cycles": int(head[1].replace(",", "")), "size": int(head[2].replace(",", "")), "rows": rows, "drop": line and line[1]})
    return found


@pytest.mark.parametrize("way", WAYS)
def test_each_kind_is_told_and_as_much_is_collected(workshop: Workshop, way: str) -> None:
    """Predicted is what the collector then returns, exactly: other kinds have tests of their own."""
    with heaped(workshop, *(f"{name}:7" for name in KINDS), "with_dict:7", "in_use", program=CYCLED) as (program, _):
        page, text = cycles(program, way), said(program, way, "--limit", "0")
        again = cycles(program, way)
        told = {frozenset(graph["rows"]): graph for graph in graphs(text)}
        # The collector of 3.13 does not track the dict of attributes that the instance keeps itself.
        is_untracked = workshop.interpreter.minor_number == 13
        with_dict = (1, {"WithDict.itself → WithDict"}) if is_untracked else (2, {"WithDict → WithDict.__dict__", "WithDict.itself → WithDict"})
        for name, (objects, references, drop) in {**KINDS, "with_dict": (*with_dict, "WithDict.itself")}.items():
            graph = told.pop(frozenset(references), None)
            assert graph, (name, text)
            assert (graph["cycles"], graph["size"]) == (7, objects), (name, text)
            assert graph["drop"].startswith(f"{drop}:"), (name, text)
        assert not told, text
        assert page["cycles"] == 7 * (len(KINDS) + 1) == sum(kind["cycles"] for kind in page["kinds"])
        assert [page[key] for key in ("would_free", "objects", "bytes")] == [again[key] for key in ("would_free", "objects", "bytes")], "it changes nothing"
        assert page["automatic"] is False and "no collection begins by itself: gc.disable()" in text
        ended = program.end()
        assert ended == {"collected": page["would_free"], "ended": 7, "kept": 1}


def test_weak_references_that_callbacks_free_are_counted_with_them(workshop: Workshop) -> None:
    """Those of a WeakSet: CPython adds them to what it returns."""
    with heaped(workshop, "weak_set:7", program=CYCLED) as (program, _):
        page = cycles(program)
        assert f" and free {page['would_free']}, which gc.collect() returns, plus weak references that callbacks free\n" in said(program)
        assert program.end()["collected"] == page["would_free"] + 7


def test_what_no_program_can_drop_is_not_named(workshop: Workshop) -> None:
    with heaped(workshop, "partial:7", program=CYCLED) as (program, _):
        (graph,) = graphs(said(program))
        assert "functools.partial.args → tuple" in graph["rows"], graph
        assert graph["drop"] == "the list's items: .clear() it when it is done, or keep weakrefs there if something else holds that functools.partial"
    with heaped(workshop, "of_class:7", program=CYCLED) as (program, _):
        text = said(program)
        assert "break it: make the class once, outside the function that makes it" in text and "break it: drop" not in text, text
        assert {(kind["breaks"]["instead"] is None, len(kind["breaks"]["drop"])) for kind in cycles(program)["kinds"]} == {(False, 0)}


def test_a_parent_is_what_to_drop(workshop: Workshop) -> None:
    with heaped(workshop, "tree:50", program=CYCLED) as (program, _):
        (graph,) = graphs(said(program))
        assert graph["rows"] == {"Node.children → list": 50, "list[…] → Node": 150, "Node.parent → Node": 150}
        assert graph["drop"].startswith("Node.parent: make it a weakref") and "(or drop Node.children, or the list's items)" in graph["drop"]
        page = cycles(program)
        (kind,) = page["kinds"]
        # Each child's own empty list hangs off.
        assert (kind["cycles"], kind["objects"], kind["held_objects"]) == (50, 250, 150)
        assert {row["class"]: row["objects"] for row in kind["classes"]} == {"__main__.Node": 200, "list": 50}
        assert program.end()["collected"] == page["would_free"] == 400


def test_what_only_a_cycle_holds_goes_with_it(workshop: Workshop) -> None:
    with heaped(workshop, "slots:20", "hanging", program=CYCLED) as (program, _):
        page = cycles(program)
        slotted, held = sorted(page["kinds"], key=lambda kind: kind["cycles"], reverse=True)
        # A bytes object is none of the collector's, and is freed with the cycle all the same.
        assert slotted["held_objects"] == 20 and 20 * 10_000 < slotted["held_bytes"] < 20 * 10_100
        # The list of a hundred lists; small numbers live on.
        assert (held["objects"], 101 <= held["held_objects"] <= 102) == (1, True)
        assert page["objects"] == sum(kind["objects"] + kind["held_objects"] for kind in page["kinds"])
        assert page["bytes"] == sum(kind["bytes"] + kind["held_bytes"] for kind in page["kinds"])
        assert sum(row["count"] for row in page["classes"]) == page["objects"]
        more = page["objects"] - page["would_free"]
        head = f" · {page['would_free']:,} objects in {page['cycles']} cycles of garbage and {more} more that the collector does not track, "
        text = said(program)
        assert more >= 20 and head in text and f" and free {page['would_free']:,}, " in text
        assert program.end()["collected"] == page["would_free"]


def test_an_exception_and_the_frame_that_keeps_it(workshop: Workshop) -> None:
    with heaped(workshop, "traceback:10", program=CYCLED) as (program, _):
        (graph,) = graphs(said(program))
        assert graph["rows"] == {
            "ValueError.__traceback__ → traceback": 10, "traceback.tb_frame → frame": 10, "frame, local kept → ValueError": 10,
        }
        assert graph["drop"].startswith("the local variable kept of the frame: del the variable")
        predicted = cycles(program)["would_free"]
        assert program.end()["collected"] == predicted >= 30


def test_generators_that_wait(workshop: Workshop) -> None:
    """Their finalizers free what they hold before the collector counts, so it returns less; the page says so."""
    with heaped(workshop, "local:5", "generator:5", "key:100", program=CYCLED) as (program, _):
        text, page = said(program), cycles(program)
        local, generator = (next(graph for graph in graphs(text) if row in graph["rows"]) for row in ("Held.by → generator", "generator, local me → cell"))
        assert (local["cycles"], local["size"], local["rows"]) == (5, 2, {"Held.by → generator": 5, "generator, local held → Held": 5})
        assert (generator["cycles"], generator["size"]) == (5, 5) and local["drop"].startswith("Held.by: ")
        assert page["generators"] == 10 and "10 generators and coroutines among them free what they hold before it counts" in text
        assert 100 <= program.end()["collected"] <= page["would_free"]


@on("3.13")
def test_names_of_the_program_are_cut_and_as_python_writes_them(workshop: Workshop) -> None:
    with heaped(workshop, "escapes", "long_name", program=CYCLED) as (program, _):
        text = said(program)
        key = r"'\x1b[31m\'\n'"
        assert f"break it: drop the dict's key {key}: del d[{key}] or d.clear()" in text
        assert r"""dict["\x1b[31m'\n"] → dict""" in text
        drops = [line for line in text.splitlines() if line.startswith("    break it: ")]
        assert len(drops) == 2 and any("LLL" in line and "….itself: make it a weakref" in line for line in drops), text
        assert "L" * 121 not in text


def test_keys_that_are_data_are_one_kind(workshop: Workshop) -> None:
    with heaped(workshop, "keys", "key:3", program=CYCLED) as (program, _):
        many, = graphs(said(program))
        assert (many["cycles"], many["rows"]) == (23, {"dict[…] → dict": 23})
        assert many["drop"].startswith("the dict's values: .clear()")


@pytest.mark.measures
def test_a_long_circle(workshop: Workshop) -> None:
    length = 10_000_000 if SOAK else 1_000_000
    with heaped(workshop, f"circle_of:{length}", program=CYCLED) as (program, _):
        page = cycles(program)
        (kind,) = page["kinds"]
        assert (kind["cycles"], kind["objects"], kind["references"][0]["count"], page["would_free"]) == (1, length, length, length)
        assert kind["breaks"]["drop"][0]["what"] == "the list's items"
        # Nor does its length matter to who counts it, leaves it out, or looks for what holds it.
        whole, live = heap(program, "--in-place"), heap(program, "--live-only", "--fork")
        lists, live_lists = (counts(page, "builtins")["list"] for page in (whole, live))
        assert lists >= length > 100 * live_lists and live["garbage"]["objects"] >= length, (lists, live_lists, live["garbage"])
        held = genba("heap", "refs", str(program.pid), "--class", "list", "--format", "json")
        assert held.returncode == 0, held.stderr
        assert json.loads(held.stdout)["kept_by"]["nothing"] >= length


@pytest.mark.measures
def test_as_much_is_collected_in_every_round(workshop: Workshop) -> None:
    rounds = 100 if SOAK else 6
    with heaped(workshop, program="tests/programs/cycle_rounds.py") as (program, _):
        differ = []
        for number in range(rounds):
            program.process.stdin.write(f"{number}\n")
            program.process.stdin.flush()
            made = json.loads(program.process.stdout.readline())
            page = cycles(program, WAYS[number % 2])
            assert page["would_free"] >= made["objects"] > 0
            program.process.stdin.write("collect\n")
            program.process.stdin.flush()
            collected = json.loads(program.process.stdout.readline())["collected"]
            differ += [(number, made, page["would_free"], collected)] if page["would_free"] != collected else []
        assert not differ
        assert program.end() == {"rounds": rounds}


# Full collections, each of which has a number of cycles of its own, until genba has kept some.
COLLECTING = """
import gc, glob, json, time
gc.disable()
log = []
def own(phase, info):
    if phase == "stop":
        log.append([time.time_ns(), info["collected"]])
gc.callbacks.append(own)
# What importing left.
gc.collect()
end, turn = time.monotonic() + 60, 0
while len(glob.glob("*.cycles-*.json")) < 4 and time.monotonic() < end:
    turn += 1
    for number in range(1_000 + turn):
        garbage = {}
        garbage["key"] = garbage
    garbage = None
    gc.collect()
    time.sleep(0.02)
print(json.dumps({"log": log, "callbacks": len(gc.callbacks)}))
"""


def test_what_full_collections_are_about_to_free_is_kept(workshop: Workshop) -> None:
    """Predicted when the collection begins is what it then collects; the walks take a hundredth of the time between them, which is a second at least."""
    run = workshop.run(workshop.write("collecting.py", COLLECTING), flags=("--gc-cycles",))
    assert run.exit_code == 0, run.stderr
    told = run.answer()
    assert told["callbacks"] == 1 and "kept the garbage in cycles before " in run.stderr, run.stderr
    files = sorted(workshop.place.outside.glob("*.cycles-*.json"), key=lambda path: int(re.search(r"-(\d+)\.json$", path.name)[1]))
    pages = [json.loads(path.read_text()) for path in files]
    assert len(pages) >= 3 and all(path.stat().st_mode & 0o777 == 0o600 for path in files)
    of_turns = [page for page in pages if page["would_free"] > 1_000]
    assert len(of_turns) >= len(pages) - 1
    for page in of_turns:
        assert page["would_free"] == next(collected for ended_ns, collected in told["log"] if ended_ns > page["walked_realtime_ns"])
        assert page["walked"] == "in_place" and "key" in [reference["name"] for kind in page["kinds"] for reference in kind["references"]]
    for page, later in zip(pages, pages[1:], strict=False):
        assert later["walked_realtime_ns"] - page["walked_realtime_ns"] >= max(100 * page["pause_ns"], 1_000_000_000)
    # The collections themselves are recorded, too, and their pauses do not hold the walks.
    assert len(json.loads(genba_said("gc", run.recording, "--format", "json"))["collections"]) >= len(pages)


# Another interpreter with the same GIL, whose garbage the main one's collector leaves.
BESIDE = """
try:
    import _interpreters as subs
    beside = subs.create("legacy")
except ImportError:
    import _xxsubinterpreters as subs
    beside = subs.create(isolated=False)
subs.run_string(beside, "import gc; gc.disable()\\nfor _ in range(50_000):\\n    garbage = {}\\n    garbage['own'] = garbage")
"""


@on("3.11", "3.13")
def test_garbage_of_another_interpreter_is_not_kept(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("beside.py", BESIDE + COLLECTING + "subs.destroy(beside)\n"), flags=("--gc-cycles",))
    assert run.exit_code == 0, run.stderr
    log = run.answer()["log"]
    pages = [json.loads(path.read_text()) for path in workshop.place.outside.glob("*.cycles-*.json")]
    of_turns = [page for page in pages if page["would_free"] > 1_000]
    assert len(of_turns) >= 3
    for page in of_turns:
        assert page["would_free"] == next(collected for ended_ns, collected in log if ended_ns > page["walked_realtime_ns"])


@on("3.13")
def test_without_garbage_it_says_so(workshop: Workshop) -> None:
    with heaped(workshop, "in_use", "on", program=CYCLED) as (program, _):
        text = said(program)
        assert "no garbage waits for the collector" in text and "and free none" in text and "gc.disable" not in text
        page = cycles(program)
        assert (page["would_free"], page["objects"], page["kinds"], page["automatic"]) == (0, 0, [], True)
        assert program.end()["collected"] == 0


def test_gc_garbage_is_told(workshop: Workshop) -> None:
    with heaped(workshop, "uncollectable", "key", program=CYCLED) as (program, _):
        page = cycles(program)
        assert page["in_gc_garbage"] >= 1 and (page["cycles"], page["would_free"]) == (1, 1)
        assert f"gc.garbage holds {page['in_gc_garbage']:,} object" in said(program)
        assert program.end()["collected"] == 1


@on("3.13")
def test_only_so_many_kinds_are_shown(workshop: Workshop) -> None:
    with heaped(workshop, *KINDS, program=CYCLED) as (program, _):
        text = said(program, "--limit", "2")
        assert len(graphs(text)) == 2 and f"{len(KINDS) - 2} more kinds of cycles (--limit 0 shows all)" in text
        page = cycles(program, "--limit", "2")
        assert (len(page["kinds"]), page["kinds_left_out"], page["cycles"]) == (2, len(KINDS) - 2, len(KINDS))


@on("3.13")
def test_no_such_process(workshop: Workshop) -> None:
    done = genba("gc", "cycles", "4194303")
    assert done.returncode == 1 and "hint: genba ps" in done.stderr and not done.stdout


@on("3.13")
def test_the_page_replaces_pages_and_nothing_else(workshop: Workshop) -> None:
    """What it shows: tests/page/cycles.test.mjs."""
    page, foreign = workshop.place.outside / "cycles.html", workshop.place.outside / "notes.txt"
    foreign.write_text("a day of work\n")
    with heaped(workshop, "key:7", program=CYCLED) as (program, _):
        for _ in range(2):
            done = genba("gc", "cycles", str(program.pid), "-o", str(page))
            assert (done.returncode, done.stderr) == (0, f"wrote {page}: open it in a browser\n")
            assert "7 cycles of 1 object each" in done.stdout
        streamed = genba("gc", "cycles", str(program.pid), "-o", "-")
        assert (streamed.returncode, streamed.stderr) == (0, "") and len(streamed.stdout) > 10_000
        assert streamed.stdout.startswith(page.read_text()[:100])
        refused = genba("gc", "cycles", str(program.pid), "-o", str(foreign))
        assert refused.returncode == 1 and f"error: {foreign} is not overwritten" in refused.stderr, refused.stderr
        assert foreign.read_text() == "a day of work\n"
