"""`--gc-cycles`: files of what full collections are about to free, of a process that runs already, of forked children, where there is no room for
them, and what `genba gc cycles` makes of such a file.

Owns: that each process has files of its own. Never: judges the walk itself (test_gc_cycles.py does).
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from entered import on, running
from recording import Workshop, genba, genba_said
from small_disks import small_disk_of

# Full collections, each with cycles of its own, until there are so many files.
COLLECTING = """
import gc, glob, json, os, sys, time

gc.disable()
log = []

def own(phase, info):
    if phase == "stop":
        log.append([os.getpid(), time.time_ns(), info["collected"]])

gc.callbacks.append(own)
# What importing left.
gc.collect()

def collect(cycles):
    for number in range(cycles):
        garbage = {}
        garbage["key"] = garbage
    garbage = None
    gc.collect()
    # genba looks at one a second at the most: thousands in between would only fill the log.
    time.sleep(0.02)

def collect_until(number, cycles, folder="."):
    end = time.monotonic() + 60
    while len(glob.glob(f"{folder}/*.cycles-*.json")) < number and time.monotonic() < end:
        collect(cycles)

def told(**more):
    gc.callbacks.remove(own)
    print(json.dumps({"log": log, "callbacks": len(gc.callbacks), **more}), flush=True)
"""


def files(folder: Path) -> list[Path]:
    """In the order in which they were kept."""
    return sorted(folder.glob("*.cycles-*.json"), key=number_of)


def number_of(path: Path) -> int:
    return int(re.search(r"-(\d+)\.json$", path.name)[1])


def assert_predicted(page: dict, log: list[list[int]]) -> None:
    """It is what the next collection of that process returned."""
    collected = [collected for pid, ended_ns, collected in log if pid == page["pid"] and ended_ns > page["walked_realtime_ns"]]
    assert collected and collected[0] == page["would_free"], (page["pid"], page["would_free"], collected[:3])


@on("3.13")
def test_of_a_process_that_runs_already(workshop: Workshop) -> None:
    text = COLLECTING + 'print("ready", flush=True)\ncollect_until(2, 1_000)\ntold()\n'
    with running(workshop, [workshop.interpreter.path, workshop.write("app.py", text)]) as program:
        run = program.recorded("attached.genba", "--gc-cycles")
        told = program.end()
    assert told["callbacks"] == 0 and "kept the garbage in cycles before " in run.stderr, run.stderr
    kept = files(workshop.place.outside)
    assert len(kept) >= 2 and [path.name for path in kept] == [f"attached.cycles-{number}.json" for number in range(1, len(kept) + 1)]
    for path in kept:
        page = json.loads(path.read_text())
        assert page["pid"] == program.pid and page["would_free"] >= 1_000
        assert_predicted(page, told["log"])


def test_a_forked_child_has_files_of_its_own(workshop: Workshop) -> None:
    """And leaves those of its parent as they are."""
    text = """
collect_until(2, 1_000)
before = {name: open(name).read() for name in glob.glob("*.cycles-*.json")}
child = os.fork()
if child == 0:
    # Of its own: one of its parent's may come meanwhile.
    end = time.monotonic() + 60
    while sum(f'"pid": {os.getpid()},' in open(name).read() for name in glob.glob("*.cycles-*.json")) < 2 and time.monotonic() < end:
        collect(2_000)
else:
    os.waitpid(child, 0)
    collect_until(len(before) + 4, 1_000)
told(before=before)
"""
    run = workshop.run(workshop.write("forking.py", COLLECTING + text), flags=("--gc-cycles",))
    assert run.exit_code == 0, run.stderr
    child, parent = (json.loads(line) for line in run.stdout.splitlines()[-2:])
    kept = files(workshop.place.outside)
    assert [number_of(path) for path in kept] == list(range(1, len(kept) + 1)) and len(kept) >= 6, run.stderr
    # The last of them may have been read before it was there as a whole.
    assert len(parent["before"]) >= 2
    assert all((workshop.place.outside / name).read_text().startswith(text) for name, text in parent["before"].items())
    pages = [json.loads(path.read_text()) for path in kept]
    pids = [told["log"][-1][0] for told in (parent, child)]
    assert {page["pid"] for page in pages} == set(pids) and pids[0] != pids[1]
    of_child = [page for page in pages if page["pid"] == pids[1]]
    assert len(of_child) >= 2 and all(page["would_free"] >= 2_000 for page in of_child)
    # What importing left may have a finalizer.
    for page in [page for page in pages if page["would_free"] >= 1_000]:
        assert_predicted(page, child["log"] + parent["log"])


@pytest.fixture
def few_files(workshop: Workshop) -> Iterator[Path]:
    """A file system with room for 16 files: a recording in it grows on when no further file can be made."""
    with small_disk_of(workshop, "size=64m,nr_inodes=16") as folder:
        yield folder


@on("3.13")
def test_a_full_disk_is_told_once_and_has_files_when_there_is_room(workshop: Workshop, few_files: Path) -> None:
    # Before the first collection: what that finds would have a file where its walk is read before the disk is full.
    fill = """
import sys

folder, made = sys.argv[1], []
try:
    while len(made) < 100:
        open(f"{folder}/filling-{len(made)}", "x").close()
        made.append(f"{folder}/filling-{len(made)}")
except OSError:
    pass
"""
    text = """
# Two searches at least, which are a second apart.
end = time.monotonic() + 3
while time.monotonic() < end:
    collect(1_000)
files = glob.glob(f"{folder}/*.cycles-*.json")
for name in made:
    os.unlink(name)
collect_until(1, 1_000, folder)
told(made=len(made), files=files)
"""
    inside = f"{workshop.place.inside}/{few_files.name}"
    target = [workshop.interpreter.path, workshop.write("app.py", fill + COLLECTING + text), inside]
    process = workshop.start(target, ["-o", f"{inside}/app.genba", "--gc-cycles"], {})
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    told = json.loads(stdout.splitlines()[-1])
    assert 0 < told["made"] < 16 and told["files"] == [], told
    assert stderr.count("was not kept (cycles): error: cannot write ") == 1 and "no space left" in stderr.lower(), stderr
    first, *_ = files(few_files)
    assert first.name == "app.cycles-1.json"
    assert_predicted(json.loads(first.read_text()), told["log"])
    assert genba("check", few_files / "app.genba").returncode == 0


@on("3.13")
def test_a_file_that_cannot_be_made_fails_nothing(workshop: Workshop) -> None:
    """The recording's name is as long as names may be, and that of a file beside it is longer."""
    name = "n" * (255 - len(".genba")) + ".genba"
    text = "end = time.monotonic() + 2.5\nwhile time.monotonic() < end:\n    collect(1_000)\ntold()\n"
    target = [workshop.interpreter.path, workshop.write("app.py", COLLECTING + text)]
    run = workshop.finish(workshop.start(target, ["-o", f"{workshop.place.inside}/{name}", "--gc-cycles"], {}), name)
    assert run.answer()["callbacks"] == 0 and files(workshop.place.outside) == []
    assert run.stderr.count("was not kept (cycles): error: cannot write ") == 1, run.stderr
    assert "kept the garbage in cycles" not in run.stderr, run.stderr


@on("3.13")
def test_a_file_is_shown_as_a_process_is(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("app.py", COLLECTING + "collect_until(2, 1_000)\ntold()\n"), flags=("--gc-cycles",))
    assert run.exit_code == 0, run.stderr
    *_, last = files(workshop.place.outside)
    assert re.search(rf" · next: genba gc cycles \S*{re.escape(last.name)}\S*$", run.stderr, re.MULTILINE), run.stderr
    page = json.loads(last.read_text())
    text = genba_said("gc", "cycles", last)
    assert text.startswith(f"process {page['pid']} · CPython {workshop.interpreter.version} · {page['would_free']:,} objects in {page['cycles']:,} cycles of garbage")
    assert f"\nthe full collection that began then was to look at {page['tracked']:,} objects and free {page['would_free']:,}\n" in text, text
    assert '\n        1,000  dict["key"] → dict\n    break it: drop the dict\'s key \'key\': del d[\'key\']' in text, text
    assert "walked in place" in text and "nothing was freed" not in text, text
    assert json.loads(genba_said("gc", "cycles", last, "--format", "json")) == page
    cut = json.loads(genba_said("gc", "cycles", last, "--format", "json", "--limit", "1"))
    assert (len(cut["kinds"]), cut["kinds_left_out"]) == (1, len(page["kinds"]) - 1)
    drawn = workshop.place.outside / "cycles.html"
    done = genba("gc", "cycles", last, "-o", drawn)
    assert (done.returncode, done.stderr) == (0, f"wrote {drawn}: open it in a browser\n") and drawn.stat().st_size > 10_000
    # It may come from somebody else.
    hostile = workshop.place.outside / "hostile.json"
    hostile.write_text(last.read_text().replace('"key"', r'"\u001b[31m"').replace(f'"{page["python"]}"', r'"3\u001b[31m"'))
    done = genba("gc", "cycles", hostile)
    assert done.returncode == 1 and "\x1b" not in done.stdout + done.stderr, "its step is none"
    hostile.write_text(last.read_text().replace('"name": "key"', r'"name": "\u001b[31m"').replace(f'"{page["python"]}"', r'"3\u001b[31m"'))
    assert "\x1b" not in genba_said("gc", "cycles", hostile)


@pytest.mark.parametrize(
    ("content", "flags", "code", "words"),
    [
        ("no JSON", (), 1, "is not a file of --gc-cycles"),
        ('{"format": "genba-heap", "version": 1}', (), 1, "hint: genba heap /"),
        ('{"format": "genba-gc-cycles", "version": 2}', (), 1, "it says genba-gc-cycles version 2, expected genba-gc-cycles version 1"),
        ('{"format": "genba-gc-cycles", "version": 1}', (), 1, "missing field"),
        ("no JSON", ("--fork",), 2, "hint: genba gc cycles "),
        (None, (), 1, "hint: genba ps lists the Python processes"),
    ],
)
def test_what_is_no_such_file(tmp_path: Path, content: str | None, flags: tuple[str, ...], code: int, words: str) -> None:
    path = tmp_path / "app.cycles-1.json"
    if content is not None:
        path.write_text(content)
    done = genba("gc", "cycles", path, *flags)
    assert (done.returncode, done.stdout) == (code, "") and words in done.stderr, done


@pytest.mark.parametrize("verb", ["gc", "report", "html"])
@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("app.cycles-1.json", {"format": "genba-gc-cycles", "version": 1}, "hint: genba gc cycles app.cycles-1.json\n"),
        ("app.heap-1.json", {"format": "genba-heap", "version": 1}, "hint: genba heap app.heap-1.json\n"),
        ("app.json", {"version": 1}, "hint: genba run app.py makes one\n"),
    ],
)
def test_such_a_file_in_place_of_a_recording(tmp_path: Path, verb: str, name: str, content: dict, hint: str) -> None:
    for indent in (None, 2):
        (tmp_path / name).write_text(json.dumps(content, indent=indent) + "\n")
        done = genba(verb, name, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "") and done.stderr.startswith(f"error: {name} is not a recording\n"), done
        assert hint in done.stderr, done.stderr


def test_such_a_file_in_place_of_a_heap(tmp_path: Path) -> None:
    (tmp_path / "app.cycles-1.json").write_text('{"format": "genba-gc-cycles", "version": 1}')
    done = genba("heap", "app.cycles-1.json", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("error: app.cycles-1.json is no heap that genba has kept\n"), done
    assert "hint: genba gc cycles app.cycles-1.json\n" in done.stderr, done.stderr


def test_zero_is_no_process(tmp_path: Path) -> None:
    done = genba("gc", "cycles", "0", cwd=tmp_path)
    assert done.returncode == 2 and "expected the number of a process; genba ps lists those of Python" in done.stderr, done.stderr
