"""Heaps that are kept while a program is recorded: at a signal, an interval, a size, around full collections, at exit.

Owns: one test for each way of `--heap-…`, and with `attach`. The programs know how many objects of a class they have, and go on until what they
wait for is there.
"""

import base64
import gzip
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from entered import on, running
from recording import Run, Workshop, binary, genba, genba_said
from running_program import until
from seccomp import FILTER
from test_heap_harm import walking

PROGRAM = """
import atexit, gc, glob, json, os, signal, sys, time

class Item:
    pass

class Cycle:
    def __init__(self):
        self.own = self

gc.disable()
items = [Item() for _ in range(5_000)]

def files():
    return sorted(glob.glob("*.heap-*.json"))

def wait(number):
    end = time.monotonic() + 60
    while len(files()) < number and time.monotonic() < end:
        time.sleep(0.01)

def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
"""
two = on("3.13", "3.14-standalone")


def cycles(number: int) -> str:
    return f"[Cycle() for _ in range({number})] and None\n"


def heap_files(workshop: Workshop) -> list[Path]:
    """In the order in which they were kept. As long as the recording goes on the last one may not be there as a whole."""
    return sorted(workshop.place.outside.glob("*.heap-*.json"), key=lambda path: int(re.search(r"-(\d+)\.json$", path.name)[1]))


def kept(workshop: Workshop) -> list[dict]:
    return [json.loads(path.read_text()) for path in heap_files(workshop)]


def count(page: dict, name: str) -> int:
    return sum(row["count"] for row in page["classes"] if (row["module"], row["name"]) == ("__main__", name))


def of_page(run: Run) -> dict:
    page = genba_said("html", "-o", "-", run.recording)
    (packed,) = re.findall(r'data-numbers="gzip\+base64">([^<]+)<', page)
    return json.loads(gzip.decompress(base64.b64decode(packed)))["heaps"]


def recorded(workshop: Workshop, text: str, *flags: str, exit_code: int = 0) -> tuple[Run, list[dict]]:
    run = workshop.run(workshop.write("app.py", PROGRAM + text), flags=flags)
    assert run.exit_code == exit_code, run.stderr
    return run, kept(workshop)


@two
def test_at_intervals(workshop: Workshop) -> None:
    run, pages = recorded(workshop, cycles(1_000) + "wait(len(files()) + 2)", "--heap-every", "200ms")
    assert len(pages) >= 2, run.stderr
    # Those before may be of a program that had not made its objects yet.
    for page in pages[-1:]:
        assert (page["moment"], page["walked"], page["collection"]) == ("interval", "in_place", None)
        assert page["why_in_place"].startswith("fewer than half a million objects find room in its memory")
        assert (count(page, "Item"), count(page, "Cycle")) == (5_000, 1_000)
        assert page["argv"][-1].endswith("app.py") and page["python"] == workshop.interpreter.version
    first, second, *_ = sorted(workshop.place.outside.glob("*.heap-*.json"))
    assert "genba heap diff " in run.stderr and "bytes" in genba_said("heap", "diff", first, second)
    shown = genba_said("heap", second)
    assert shown.startswith("process ") and "\nkept during a recording (interval)\nwalked in place" in shown, shown
    times = [page["walked_realtime_ns"] for page in pages]
    assert times == sorted(times)
    # The recording has the same, for the page.
    heaps = of_page(run)
    assert [heap["file"] for heap in heaps["rows"]] == [f"{run.recording.stem}.heap-{number}.json" for number in range(1, len(pages) + 1)]
    assert [(heap["objects"], heap["bytes"], heap["moment"]) for heap in heaps["rows"]] == [(page["objects"], page["bytes"], "interval") for page in pages]
    last = heaps["rows"][-1]
    objects = dict(zip((heaps["classes"][at] for at in last["class"]), last["class_objects"], strict=True))
    assert (objects["__main__.Item"], objects["__main__.Cycle"]) == (5_000, 1_000)
    assert 0 < last["at_ns"] and last["process"] == 0


@two
def test_the_threads_that_walk_are_no_part_of_the_program(workshop: Workshop) -> None:
    """They block signals, and so nearly all of their CPU is in no sample: the program's has nothing to do with that."""
    run, _ = recorded(workshop, "more = [Item() for _ in range(300_000)]\nwait(len(files()) + 3)", "--heap-every", "200ms")
    profile = run.report_json()
    assert not [words for words in profile["warnings"] if "SIGURG" in words or "that ended before" in words], profile["warnings"]
    walking = [thread for thread in run.profile()["threads"] if thread["name"] in ("genba", "genba-heap")]
    (process,) = run.profile()["processes"]
    walked_ns = sum(thread["cpu_ns"] for thread in walking)
    assert len(walking) >= 2 and process["cpu_not_sampled_ns"] < walked_ns <= process["cpu_genba_ns"], process


@two
def test_after_a_collection(workshop: Workshop) -> None:
    run, pages = recorded(workshop, cycles(1_000) + "wait(len(files()) + 2)", "--heap-every", "200ms", "--heap-collect")
    assert pages, run.stderr
    assert max(page["collection"]["collected"] for page in pages) >= 1_000
    assert (count(pages[-1], "Item"), count(pages[-1], "Cycle")) == (5_000, 0)


@two
def test_at_a_signal_that_the_program_does_not_get(workshop: Workshop) -> None:
    text = """
got = []
signal.signal(signal.SIGUSR2, lambda *_: got.append(1))
print("ready", flush=True)
wait(1)
print(json.dumps(got))
"""
    target = [workshop.interpreter.path, workshop.write("app.py", PROGRAM + text)]
    process = workshop.start(target, ["-o", f"{workshop.place.inside}/signal.genba", "--heap-on", "USR2"], {})
    assert process.stderr.readline() == f"kill -USR2 {process.pid} keeps the heap\n"
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGUSR2)
    run = workshop.finish(process, "signal.genba")
    assert (run.exit_code, run.answer()) == (0, []), run.stderr
    (page,) = kept(workshop)
    assert (page["moment"], count(page, "Item")) == ("signal", 5_000)
    assert "kept the heap of process" in run.stderr


@on("3.13")
def test_a_signal_that_went_to_the_program_is_told(workshop: Workshop) -> None:
    """It has no handler, and works for longer than a block takes."""
    text = "import subprocess\nuntil = time.process_time() + 1\nwhile time.process_time() < until: pass\n"
    text += "subprocess.Popen(['kill', '-USR2', str(os.getpid())])\nwhile True: pass\n"
    target = [workshop.interpreter.path, workshop.write("app.py", PROGRAM + text)]
    workshop.may_be_unfinished = True
    run = workshop.finish(workshop.start(target, ["-o", f"{workshop.place.inside}/missent.genba", "--heap-on", "USR2"], {}), "missent.genba")
    assert run.exit_code == 128 + signal.SIGUSR2, run.stderr
    said = " ".join(run.stderr.split())
    assert "note: SIGUSR2 ended the program: --heap-on's signal goes to genba itself (process " in said, run.stderr
    assert "none of its moments came" not in said, run.stderr
    assert f"has no end in this recording: the program was ended by signal {signal.SIGUSR2.value}; " in said, run.stderr


@on("3.13")
def test_what_is_kept_is_for_its_owner_alone(workshop: Workshop) -> None:
    target = [workshop.interpreter.path, workshop.write("app.py", PROGRAM), "--password", "hunter2"]
    run = workshop.finish(workshop.start(target, ["-o", f"{workshop.place.inside}/exit.genba", "--heap-at-exit"], {}), "exit.genba")
    assert run.exit_code == 0, run.stderr
    (page,) = kept(workshop)
    assert page["argv"][-2:] == ["--password", "***"]
    (file,) = workshop.place.outside.glob("*.heap-*.json")
    assert file.stat().st_mode & 0o777 == 0o600


@two
def test_at_a_signal_after_a_collection(workshop: Workshop) -> None:
    text = cycles(1_000) + 'print("ready", flush=True)\nwait(1)\n'
    target = [workshop.interpreter.path, workshop.write("app.py", PROGRAM + text)]
    process = workshop.start(target, ["-o", f"{workshop.place.inside}/signal.genba", "--heap-on", "USR2", "--heap-collect"], {})
    assert process.stderr.readline() == f"kill -USR2 {process.pid} keeps the heap\n"
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGUSR2)
    run = workshop.finish(process, "signal.genba")
    assert run.exit_code == 0, run.stderr
    (page,) = kept(workshop)
    assert (page["moment"], count(page, "Item"), count(page, "Cycle")) == ("signal", 5_000, 0)
    assert page["collection"]["collected"] >= 1_000


@pytest.mark.parametrize("when", ["before", "after", "both"])
@two
def test_around_full_collections(workshop: Workshop, when: str) -> None:
    # Young collections are of no interest; those until genba is there are not seen.
    text = f"""
while not files() and time.monotonic() < 10**9:
    gc.collect()
    time.sleep(0.1)
{cycles(1_000)}
gc.collect(0)
gc.collect(1)
before = gc.collect()
{cycles(500)}
gc.collect()
print(json.dumps([len(gc.callbacks)]))
"""
    run, pages = recorded(workshop, text, "--heap-around-gc", when)
    # Cycles that were in no young collection: of the second full one alone.
    moments = {"before": ["before_gc"], "after": ["after_gc"], "both": ["before_gc", "after_gc"]}[when]
    assert [page["moment"] for page in pages[-len(moments):]] == moments
    cycles_then = {"before_gc": 500, "after_gc": 0}
    for page in pages[-len(moments):]:
        assert (count(page, "Item"), count(page, "Cycle")) == (5_000, cycles_then[page["moment"]])
        assert page["walked"] == "in_place" and page["why_in_place"]
    assert run.answer() == [0]
    assert json.loads(genba_said("gc", run.recording, "--format", "json"))["collections"]


@two
def test_at_exit_of_each_process(workshop: Workshop) -> None:
    text = """
busy(1)
if os.fork() == 0:
    items.pop()
    busy(1)
    sys.exit(0)
os.wait()
sys.exit(3)
"""
    run, pages = recorded(workshop, text, "--heap-at-exit", exit_code=3)
    assert [page["moment"] for page in pages] == ["exit"] * len(pages)
    assert sorted(count(page, "Item") for page in pages) == [4_999, 5_000], run.stderr
    assert len({page["pid"] for page in pages}) == 2


@two
def test_once_when_it_has_grown(workshop: Workshop) -> None:
    text = "time.sleep(0.5)\nassert not files()\nlarge = bytearray(b'x') * 200_000_000\nwait(1)\ntime.sleep(0.5)\n"
    run, pages = recorded(workshop, text, "--heap-at-rss", "150MB")
    (page,) = pages
    assert (page["moment"], count(page, "Item")) == ("rss", 5_000), run.stderr
    # It is small no more.
    assert page["bytes"] > 200_000_000 and (page["walked"], page["why_in_place"]) == ("copy", None)


@on("3.13")
def test_of_a_process_that_runs_already(workshop: Workshop) -> None:
    text = 'print("ready", flush=True)\nsys.stdin.readline()\nprint(json.dumps({"threads": len(os.listdir("/proc/self/task"))}))\n'
    with running(workshop, [workshop.interpreter.path, workshop.write("app.py", PROGRAM + text)]) as program:
        with program.recording("attached.genba", "--heap-every", "200ms"):
            assert until(lambda: heap_files(workshop))
        assert program.end() == {"threads": 1}
    pages = kept(workshop)
    assert pages and {(page["pid"], page["moment"], count(page, "Item")) for page in pages} == {(program.pid, "interval", 5_000)}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may enter another user's process")
@on("3.13")
def test_of_another_users_process_that_runs_already(workshop: Workshop) -> None:
    """Its answers go to a file that genba makes for it, beside its own one."""
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    text = 'print("ready", flush=True)\nsys.stdin.readline()\nprint(json.dumps({"user": os.getuid()}))\n'
    with running(workshop, [*nobody, workshop.interpreter.path, workshop.write("app.py", PROGRAM + text)]) as program:
        with program.recording("attached.genba", "--heap-every", "200ms"):
            assert until(lambda: heap_files(workshop))
        assert program.end() == {"user": 65534}
    pages = kept(workshop)
    assert pages and {(page["pid"], count(page, "Item")) for page in pages} == {(program.pid, 5_000)}


@on("3.13")
def test_at_a_signal_in_a_process_that_runs_already(workshop: Workshop) -> None:
    """After a collection; the program, which has a handler for that signal, does not get it."""
    text = """
got = []
signal.signal(signal.SIGUSR2, lambda *_: got.append(1))
print("ready", flush=True)
wait(1)
sys.stdin.readline()
print(json.dumps({"got": got}))
"""
    outside = workshop.place.outside
    with running(workshop, [workshop.interpreter.path, workshop.write("app.py", PROGRAM + cycles(1_000) + text)]) as program:
        command = [str(binary()), "attach", str(program.pid), "-o", str(outside / "attached.genba"), "--heap-on", "USR2", "--heap-collect"]
        attached = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert attached.stderr.readline().startswith("recording process ")
            assert attached.stderr.readline() == f"kill -USR2 {attached.pid} keeps the heap\n"
            attached.send_signal(signal.SIGUSR2)
            assert until(lambda: bool(list(outside.glob("*.heap-*.json"))), seconds=20)
            attached.send_signal(signal.SIGINT)
            _, stderr = attached.communicate(timeout=60)
            assert attached.returncode == 0, stderr
            assert program.end() == {"got": []}
        finally:
            attached.kill()
            attached.communicate()
    (page,) = kept(workshop)
    assert (page["pid"], page["moment"], count(page, "Item"), count(page, "Cycle")) == (program.pid, "signal", 5_000, 0), stderr
    assert page["collection"]["collected"] >= 1_000


@on("3.13")
def test_around_full_collections_of_a_process_that_runs_already(workshop: Workshop) -> None:
    text = """
print("ready", flush=True)
end = time.monotonic() + 60
while len(files()) < 4 and time.monotonic() < end:
    gc.collect()
    time.sleep(0.05)
sys.stdin.readline()
print(json.dumps({"callbacks": len(gc.callbacks)}))
"""
    with running(workshop, [workshop.interpreter.path, workshop.write("app.py", PROGRAM + text)]) as program:
        with program.recording("attached.genba", "--heap-around-gc", "both"):
            assert until(lambda: len(heap_files(workshop)) >= 2)
        assert program.end() == {"callbacks": 0}
    pages = kept(workshop)
    assert {page["moment"] for page in pages} == {"before_gc", "after_gc"}
    assert {(page["pid"], page["walked"], count(page, "Item")) for page in pages} == {(program.pid, "in_place", 5_000)}


@on("3.13")
@pytest.mark.parametrize(("way", "moment"), [(("--heap-at-exit",), "exit"), (("--heap-at-rss", "150MB"), "rss")], ids=["exit", "rss"])
def test_at_its_own_moment_in_a_process_that_runs_already(workshop: Workshop, way: tuple[str, ...], moment: str) -> None:
    text = """
print("ready", flush=True)
sys.stdin.readline()
large = bytearray(b"x") * 200_000_000
busy(1)
if sys.argv[1] == "rss":
    wait(1)
print("{}", flush=True)
"""
    with running(workshop, [workshop.interpreter.path, workshop.write("app.py", PROGRAM + text), moment]) as program:
        recording = workshop.place.outside / "attached.genba"
        command = [str(binary()), "attach", str(program.pid), "-o", str(recording), "--no-children", *way]
        attached = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert until(program.has_genba_thread), attached.poll()
            assert program.end() == {}
            _, stderr = attached.communicate(timeout=60)
        finally:
            attached.kill()
            attached.communicate()
    (page,) = kept(workshop)
    assert (page["pid"], page["moment"], count(page, "Item")) == (program.pid, moment, 5_000), stderr


LOOPS = """
import ctypes, mmap
class Loops: pass
kept = [Loops(), bytearray(b"x") * 50_000_000]
loop = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
loop.write(b"\\xeb\\xfe")
traverse = ctypes.c_void_p.from_address(id(Loops) + 184)
before = traverse.value
traverse.value = ctypes.addressof(ctypes.c_char.from_buffer(loop))
print("ready", flush=True)
sys.stdin.readline()
traverse.value = before
print("mended", flush=True)
wait(1)
print("{}")
"""


@on("3.13")
def test_a_heap_that_is_due_during_another_walk_is_walked_after_it(workshop: Workshop) -> None:
    """The other walk is in a copy, in which a class has no end. The program mends it before its own collection comes to it."""
    with running(workshop, [workshop.interpreter.path, workshop.write("app.py", PROGRAM + LOOPS)]) as program:
        # As `walking` starts genba: one library in the process.
        recording = workshop.place.outside / "attached.genba"
        command = [str(binary()), "attach", str(program.pid), "-o", str(recording), "--no-children", "--heap-on", "USR2", "--heap-collect"]
        attached = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert any(line.startswith("kill -USR2 ") for line in attached.stderr)
            with walking(program):
                program.process.stdin.write("\n")
                program.process.stdin.flush()
                assert program.process.stdout.readline() == "mended\n"
                attached.send_signal(signal.SIGUSR2)
                # Its copy is ended after some seconds, and the program's own walk can begin.
                assert program.process.stdout.readline() == "{}\n"
            _, stderr = attached.communicate(timeout=60)
        finally:
            attached.kill()
            attached.communicate()
    assert "not kept" not in stderr, stderr
    (page,) = kept(workshop)
    assert (page["moment"], count(page, "Item")) == ("signal", 5_000) and page["collection"] is not None


@on("3.13")
@pytest.mark.parametrize("collects", [False, True])
def test_a_heap_that_was_due_during_another_walk_until_the_end_is_told(workshop: Workshop, collects: bool) -> None:
    """The other walk is in a copy that takes longer than the recording: its time is by the program's memory."""
    loops = LOOPS.replace("50_000_000", "200_000_000").replace("\nwait(1)", "")
    with running(workshop, [workshop.interpreter.path, workshop.write("app.py", PROGRAM + loops)]) as program, walking(program):
        recording = workshop.place.outside / "attached.genba"
        ways = ["--heap-every", "100ms", *(["--heap-collect"] if collects else [])]
        done = genba("attach", str(program.pid), "-o", str(recording), "--no-children", "--duration", "300ms", *ways)
    assert done.returncode == 0 and kept(workshop) == []
    assert "was not kept (interval): error: another walk of its heap was under way until the end" in done.stderr, done.stderr
    assert "none of its moments came" not in done.stderr


@on("3.13")
@pytest.mark.parametrize("collects", [False, True])
def test_a_heap_waits_for_a_thread_until_the_end(workshop: Workshop, collects: bool) -> None:
    """The filter holds for all threads: no one of them makes another. Each interval asks for the same heap, and one line tells of it."""
    text = FILTER + "\ninstall([56, 435], errno.EAGAIN, 1)\nbusy(2)\n"
    run, _ = recorded(workshop, text, "--heap-every", "500ms", *(["--heap-collect"] if collects else []))
    assert run.stderr.count("was not kept (interval): error: cannot walk the heap") == 1, run.stderr
    assert "no thread could be made for the walk" in run.stderr, run.stderr


@on("3.13")
def test_a_heap_that_cannot_be_kept_fails_nothing(workshop: Workshop) -> None:
    # The name is as long as names may be, and that of a heap is longer.
    text = "busy(1)\nsys.exit(3)\n"
    name = "n" * (255 - len(".genba")) + ".genba"
    target = [workshop.interpreter.path, workshop.write("app.py", PROGRAM + text)]
    run = workshop.finish(workshop.start(target, ["-o", f"{workshop.place.inside}/{name}", "--heap-at-exit"], {}), name)
    assert run.exit_code == 3 and kept(workshop) == []
    assert "was not kept (exit): error: cannot write" in run.stderr, run.stderr


@on("3.13")
def test_without_genba_the_program_goes_on_alone(workshop: Workshop) -> None:
    text = "print('ready', flush=True)\nsys.stdin.readline()\nprint(len(items), flush=True)\n"
    target = [workshop.interpreter.path, workshop.write("app.py", PROGRAM + text)]
    flags = ["-o", f"{workshop.place.inside}/killed.genba", "--heap-every", "100ms", "--heap-around-gc", "both", "--heap-at-exit"]
    process = workshop.start(target, flags, {}, stdin=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"
    process.kill()
    stdout, _ = process.communicate("\n", timeout=60)
    assert stdout == "5000\n"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--heap-every", "0"), "expected"),
        (("--heap-every", "0s"), "100ms or more"),
        (("--heap-on", "KILL"), "the kernel lets no program catch it"),
        (("--heap-on", "INT"), "another meaning"),
        (("--heap-on", "NOSUCH"), "USR1 or USR2"),
        (("--heap-at-rss", "2"), "2GiB"),
        (("--heap-around-gc", "never"), "before"),
        (("--heap-collect",), "--heap-every"),
    ],
)
def test_what_is_refused(tmp_path: Path, flags: tuple[str, ...], words: str) -> None:
    (tmp_path / "app.py").write_text("print('began')\n")
    done: subprocess.CompletedProcess[str] = genba("run", *flags, tmp_path / "app.py", cwd=tmp_path)
    assert done.returncode == 2 and "began" not in done.stdout, done
    assert done.stderr.startswith("error: ") and words in done.stderr, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["app.py"]


@on("3.13")
def test_the_thread_that_collects_writes_nothing(workshop: Workshop) -> None:
    """It holds the GIL, so it leaves its answer to genba's thread. Where that had no CPU for a while, there is no more room, and another collection tells."""
    text = """
def written_bytes():
    with open("/proc/thread-self/io") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("wchar:"))

def written_by_a_collection():
    before = written_bytes()
    gc.collect()
    return written_bytes() - before

end = time.monotonic() + 60
while not files() and time.monotonic() < end:
    gc.collect()
    busy(0.1)
written = []
while (not written or written[-1]) and time.monotonic() < end:
    busy(0.1)
    written.append(written_by_a_collection())
print(json.dumps(written))
"""
    run, pages = recorded(workshop, text, "--heap-around-gc", "before")
    written = run.answer()
    assert written and written[-1] == 0, written
    # None is lost: each of these collections has one, and one came before them.
    assert len(pages) > len(written)
