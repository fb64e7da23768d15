"""`import genba`: a program that records itself, in a process that nobody started for genba."""

import json
import signal
import subprocess
import time

from inside import WORK, Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from recording import genba


def test_a_piece_of_the_program(inside: Inside) -> None:
    lines = inside.said(
        """
before(200)
assert not genba.is_active() and genba.path() is None
used_before_ns = time.process_time_ns()
with genba.record("app.genba", tags={"load": "a=b"}) as r:
    assert genba.is_active() and genba.path() == r.path
    during(300)
used_ns = time.process_time_ns() - used_before_ns
assert not genba.is_active() and genba.path() is None
after(200)
profile = r.profile()
tree = profile.tree()
during = tree.find("^during$")[0]
print(json.dumps({
    "argv": profile.argv, "meta": profile.meta, "duration_ns": profile.duration_ns, "cpu_ns": profile.cpu_ns, "used_ns": used_ns,
    "ticks": profile.accounting.ticks, "sampled": profile.accounting.sampled,
    "lost": sum(profile.accounting.dropped.values()) + sum(profile.accounting.refused.values()),
    "verdict": [profile.verdict.name, profile.verdict.places[0]["function"], profile.verdict.figures["cpu_ns"] == profile.verdict.whole_ns], "warnings": profile.warnings,
    "first": [profile.rows()[0].function, profile.rows()[0].expression, *profile.rows()[0].chain],
    "found": [row.expression for row in profile.find("DATA.start:.")],
    "share": sum(node.total_share for node in tree.find("^during$")), "below": during["copies"].total_cpu_ns, "kind": during.kind,
    "top": [node.name for node in tree.children], "whole_ns": tree.total_cpu_ns,
    "sum_ns": sum(node.cpu_ns for node in tree.walk()),
}))
""".replace("json.", "__import__('json').")
    )
    answer = json.loads(lines[-1])
    assert answer["argv"][-1].endswith("program.py")
    assert answer["meta"]["tags"] == {"load": "a=b"} and answer["meta"]["interval_ns"] == 1_000_000
    assert answer["meta"]["python"].startswith(inside.workshop.interpreter.minor)
    assert answer["ticks"] == answer["sampled"] + answer["lost"] > 0
    assert answer["verdict"] == ["one place", "copies", True] and answer["found"]
    assert answer["first"][:2] == ["copies", "DATA[start:]"] and answer["first"][-1] == "memmove", answer
    assert answer["share"] > 0.9 and answer["below"] > 0 and answer["kind"] == "python"
    assert answer["sum_ns"] == answer["whole_ns"] <= answer["cpu_ns"]
    # What the process used before is not in it.
    assert answer["cpu_ns"] <= answer["used_ns"]
    functions = inside.functions("app.genba")
    assert "during" in functions and not functions & {"before", "after"}
    names = inside.recording("app.genba").report_json()
    assert names["processes"][0]["ended"] == "stop"


def test_read_while_it_goes_on(inside: Inside) -> None:
    inside.said(
        """
with genba.record("app.genba") as r:
    during(300)
    assert any("during" in path for path in r.profile().tree().flatten())
    during(300)
"""
    )


def test_paused(inside: Inside) -> None:
    inside.said(
        """
genba.start("app.genba")
before(150)
genba.pause()
assert not genba.is_active() and genba.path() is not None
during(200)
genba.pause()
genba.resume()
assert genba.is_active()
after(150)
genba.stop()
"""
    )
    functions = inside.functions("app.genba")
    assert {"before", "after"} <= functions and "during" not in functions
    run = inside.recording("app.genba")
    marks = [(mark["kind"], mark["value"]) for mark in run.profile()["marks"] if mark["kind"] == "pause"]
    assert marks == [("pause", 0), ("pause", 1)]
    said = genba("report", run.recording).stderr
    assert "the program paused the sampling for " in said, said


def test_settings_of_the_folder_change_nothing(inside: Inside) -> None:
    inside.workshop.write("genba.toml", 'show = "python"\nlimit = 1\nformat = "markdown"\n')
    lines = inside.said(
        """
with genba.record("app.genba") as r:
    sum(number * number for number in range(1_000_000))
    during(300)
print(len(r.profile().rows()) > 1, "memmove" in r.profile().rows()[0].chain)
""",
        environment={"GENBA_LIMIT": "1", "GENBA_INVERTED": "1"},
    )
    assert lines == ["True True"]


def test_stopped_while_paused(inside: Inside) -> None:
    inside.said('genba.start("app.genba")\nbefore(100)\ngenba.pause()\nduring(100)\ngenba.stop()\n')
    functions = inside.functions("app.genba")
    assert "before" in functions and "during" not in functions


def test_two_starts_and_none(inside: Inside) -> None:
    lines = inside.said(
        """
for call in (genba.stop, genba.pause, genba.resume):
    try:
        call()
    except genba.NotRecording as error:
        print(str(error).splitlines()[0])
first = genba.start("first.genba")
try:
    genba.start("second.genba")
except genba.AlreadyRecording as error:
    assert error.path == str(first) and error.asked.endswith("/second.genba")
    print(str(error).splitlines()[-1])
genba.stop()
assert not os.path.exists("second.genba")
try:
    genba.start("first.genba")
except FileExistsError as error:
    print(error.__notes__[0])
genba.start("first.genba", force=True)
genba.stop()
for wrong in ({"interval_ns": 5}, {"budget": 5}, {"budget": 0.05, "interval_ns": 1_000_000}, {"duration_ns": 0}, {"tags": {"a=b": "c"}}):
    try:
        genba.start("third.genba", **wrong)
    except ValueError as error:
        print(error)
try:
    genba.start("nowhere/app.genba")
except FileNotFoundError as error:
    print(error.filename)
for page in ("third.svg", "third.Json", "third.prof"):
    for begin in (genba.start, genba.record):
        try:
            begin(page)
        except ValueError as error:
            print(error)
    assert not os.path.exists(page) and not genba.is_active()
assert not os.path.exists("third.genba")
try:
    genba.open("nothing.genba")
except FileNotFoundError as error:
    print(error)
try:
    genba.open(__file__).rows()
except genba.CannotRead as error:
    print(str(error).splitlines()[0])
"""
    )
    assert lines == [
        "stop: this process is not being recorded",
        "pause: this process is not being recorded",
        "resume: this process is not being recorded",
        "hint: genba.stop() ends the first one",
        "hint: force=True replaces it",
        "interval_ns is 5, and may be 50,000 (50 us) to 1,000,000,000 (1 s)",
        "budget is 5, and may be 0.001 to 1: a share of the program's CPU", "interval_ns is kept whatever it costs: it cannot be set together with budget",
        "duration_ns is 0, and must be above 0",
        "'a=b' cannot be the name of a tag: it is empty or contains '='",
        f"{inside.workshop.place.inside}/nowhere/app.genba",
        *["'third.svg': the name of a recording does not end in .svg: choose one that ends in .genba, then `genba html` makes a page of it"] * 2,
        *["'third.Json': the name of a recording does not end in .json: choose one that ends in .genba, then `genba export --to FORMAT` writes it in another format"] * 2,
        *["'third.prof': the name of a recording does not end in .prof: choose one that ends in .genba, or genba.trace(path) writes what cProfile does"] * 2,
        f"no recording '{inside.workshop.place.inside}/nothing.genba'",
        f"{inside.workshop.place.inside}/program.py is not a recording",
    ], lines


def test_begun_and_ended_by_other_threads(inside: Inside) -> None:
    inside.said(
        """
import threading

def in_thread(call, *arguments):
    thread = threading.Thread(target=call, args=arguments)
    thread.start()
    thread.join()

in_thread(genba.start, "app.genba")
before(150)
worker = threading.Thread(target=during, args=(150,), name="worker")
worker.start()
worker.join()
in_thread(genba.stop)
after(50)
"""
    )
    functions = inside.functions("app.genba")
    assert {"before", "during"} <= functions and "after" not in functions


def test_in_a_forked_child(inside: Inside) -> None:
    lines = inside.said(
        """
import warnings
warnings.simplefilter("ignore")
genba.start("parent.genba")
before(150)
child = os.fork()
if child == 0:
    assert not genba.is_active() and genba.path() is None
    genba.start("child.genba")
    during(200)
    genba.stop()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert genba.is_active()
after(150)
genba.stop()
print(os.getpid(), child)
"""
    )
    parent, child = lines[-1].split()
    assert inside.functions("parent.genba") >= {"before", "after"} and "during" not in inside.functions("parent.genba")
    assert "during" in inside.functions("child.genba") and not inside.functions("child.genba") & {"before", "after"}
    for name, pid in (("parent.genba", parent), ("child.genba", child)):
        assert [process["pid"] for process in inside.recording(name).report_json()["processes"]] == [int(pid)]


def test_forks_while_another_thread_starts_and_stops(inside: Inside) -> None:
    """Whatever that thread holds at the moment of the fork, the child can record itself."""
    inside.said(
        """
import threading, warnings
warnings.simplefilter("ignore")
over = threading.Event()

def again():
    while not over.is_set():
        genba.start("parent.genba", force=True)
        genba.stop(finish=False)

thread = threading.Thread(target=again, daemon=True)
thread.start()
for number in range(20):
    child = os.fork()
    if child == 0:
        genba.start(f"child-{number}.genba")
        genba.stop(finish=False)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
over.set()
thread.join()
"""
    )
    for name in ("parent", *(f"child-{number}" for number in range(20))):
        inside.recording(f"{name}.genba")


def test_children_too(inside: Inside) -> None:
    inside.said(
        """
import warnings
warnings.simplefilter("ignore")
genba.start("app.genba", children=True)
before(150)
child = os.fork()
if child == 0:
    assert genba.is_active()
    during(200)
    sys.exit(0)
os.waitpid(child, 0)
genba.stop()
"""
    )
    assert {"before", "during"} <= inside.functions("app.genba")
    processes = inside.recording("app.genba").report_json()["processes"]
    assert len(processes) == 2 and all(process["ended"] for process in processes)


def test_inside_of_genba_run_it_marks(inside: Inside) -> None:
    program = inside.workshop.write(
        "program.py",
        WORK
        + """
before(100)
with genba.record("own.genba") as r:
    print(r.path.name, genba.is_active())
    during(100)
    try:
        genba.start("second.genba")
    except genba.AlreadyRecording as error:
        print(os.path.basename(error.path))
    print(any("during" in path for path in r.profile().tree().flatten()))
after(100)
try:
    genba.stop()
except genba.NotRecording:
    print("not begun by a call")
assert genba.is_active()
""",
    )
    run = inside.workshop.run(program, environment=inside.environment)
    assert (run.exit_code, run.stdout.splitlines()) == (
        0,
        [f"{run.recording.name} True", "own.genba", "True", "not begun by a call"],
    ), run.stderr
    assert not (inside.workshop.place.outside / "own.genba").exists()
    own = f"{inside.workshop.place.inside}/own.genba"
    marks = [mark["text"] for mark in run.profile()["marks"] if mark["kind"] == "program" and mark["text"]]
    assert marks == [f"genba.start('{own}')", f"genba.stop('{own}')"]
    assert len(run.report_json()["processes"]) == 1


def test_killed_between_start_and_stop(inside: Inside) -> None:
    place = inside.workshop.place
    program = inside.workshop.write("program.py", WORK + 'genba.start("app.genba")\nprint("begun", flush=True)\nduring(60_000)\n')
    command = place.command([inside.workshop.interpreter.path, program])
    environment = place.environment(inside.environment)
    with subprocess.Popen(command, cwd=place.outside, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        recording = inside.recording("app.genba")
        deadline = time.monotonic() + 60
        while sum(row["samples"] for row in recording.report_json()["rows"]) < 200 and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
    first = recording.report_json("--weight", "cpu")["rows"][0]
    assert first["function"] == "copies"
    if inside.workshop.interpreter.root is None:
        # Inside of the chroot the files are not where they are for the one who reads.
        assert (first["expression"], first["chain"][-1]) == ("DATA[start:]", "memmove")
    assert "has no end in this recording" in genba("report", recording.recording).stderr


def test_decorated(inside: Inside) -> None:
    lines = inside.said(
        """
import asyncio

@genba.record("plain.genba")
def plain(depth):
    "A docstring."
    return plain(depth - 1) + 1 if depth else during(60) and 1

@genba.record("coroutine.genba")
async def coroutine():
    await asyncio.sleep(0)
    during(60)
    return 7

@genba.record("generator.genba")
def generator():
    got = yield 1
    during(60)
    yield got
    return 3

@genba.record("asynchronous.genba")
async def asynchronous():
    try:
        got = yield 1
    except KeyError:
        got = "caught"
    during(60)
    yield got

async def use():
    stream = asynchronous()
    seen = [await stream.asend(None), await stream.athrow(KeyError())]
    async for item in stream:
        seen.append(item)
    return seen

def delegate():
    result = yield from generator()
    yield result

print(plain(3), plain(0), plain.__name__, plain.__doc__)
print(asyncio.run(coroutine()))
stream = delegate()
print([next(stream), stream.send(5), next(stream)])
print(asyncio.run(use()))
assert not genba.is_active()
try:
    @genba.record("fails.genba")
    def fails():
        raise KeyError("mine")
    fails()
except KeyError as error:
    print(error)
assert not genba.is_active()
"""
    )
    assert lines == ["4 1 plain A docstring.", "7", "[1, 5, 3]", "[1, 'caught']", "'mine'"]
    for name in ("plain", "plain-2", "coroutine", "generator", "asynchronous"):
        assert "during" in inside.functions(f"{name}.genba"), name
    assert not (inside.workshop.place.outside / "plain-3.genba").exists()
    inside.recording("fails.genba")


def test_many_recordings_leave_nothing_behind(inside: Inside) -> None:
    lines = inside.said(
        """
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

def descriptors():
    return sorted(os.listdir("/proc/self/fd"))

for number in range(20):
    genba.start("app.genba", force=True)
    copies(3)
    genba.stop(finish=False)
before, opened = resident(), descriptors()
for number in range(200):
    genba.start("app.genba", force=True)
    copies(3)
    genba.stop(finish=False)
assert descriptors() == opened, (opened, descriptors())
# The kernel takes a thread out of the list a moment after it was joined.
until = time.monotonic() + 60
while len(os.listdir("/proc/self/task")) > 1:
    assert time.monotonic() < until
print(resident() - before)
"""
    )
    # 200 recordings: less than 20 kB each would have to stay behind to be seen here.
    assert int(lines[-1]) < 4_000_000, lines
    inside.recording("app.genba")


def test_a_program_that_has_the_signal_is_told(inside: Inside) -> None:
    inside.said(
        """
import signal
hits = []
signal.signal(signal.SIGURG, lambda *_: hits.append(1))
genba.start("app.genba")
during(200)
os.kill(os.getpid(), signal.SIGURG)
during(50)
genba.stop()
assert hits == [1], hits
"""
    )
    marks = [mark["text"] for mark in inside.recording("app.genba").profile()["marks"] if mark["kind"] == "handler"]
    assert any("SIGURG is the program's" in text for text in marks), marks


def test_faulthandler_and_its_own_faults(inside: Inside) -> None:
    done = inside.python(
        """
import ctypes, faulthandler
genba.start("app.genba")
during(300)
faulthandler.enable()
during(300)
ctypes.string_at(0)
"""
    )
    assert done.returncode == -signal.SIGSEGV or done.returncode == 128 + signal.SIGSEGV, done
    assert "Fatal Python error: Segmentation fault" in done.stderr
    assert "during" in inside.functions("app.genba")


def test_an_interpreter_that_ends_without_stop(inside: Inside) -> None:
    inside.said('genba.start("app.genba")\nduring(150)\n')
    assert "during" in inside.functions("app.genba")
    [process] = inside.recording("app.genba").report_json()["processes"]
    assert process["ended"] == "stop"


def test_only_for_a_while(inside: Inside) -> None:
    inside.said(
        """
genba.start("app.genba", duration_ns=1_000_000_000, interval_ns=500_000)
before(120)
while genba.is_active():
    copies(5)
during(100)
print(genba.stop())
genba.start("next.genba")
after(100)
genba.stop()
"""
    )
    assert "before" in inside.functions("app.genba") and "during" not in inside.functions("app.genba")
    assert "after" in inside.functions("next.genba")
    [process] = inside.recording("app.genba").report_json()["processes"]
    assert process["ended"] == "duration"


def test_without_c(inside: Inside) -> None:
    inside.said('genba.start("app.genba", native=False)\nduring(150)\ngenba.stop()\n')
    rows = inside.recording("app.genba").profile().rows()
    assert rows and all(frame["kind"] in ("python", "mark") for row in rows for frame in row.frames)
