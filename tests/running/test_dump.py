"""`genba dump`: exact stacks, lines, states and values of programs that stand still, and no impossible stack of one that never does."""

import json
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from interpreters import Interpreter
from looked_at import LOOKS_MAX, Program, line_of, running, started
from places import make_place
from recording import Place, genba, genba_said
from soak import SOAK

DUMPS = 1000 if SOAK else 12
PROGRAM = "standing.py"
LONG = "рабочий с длинным именем"
# Innermost first, down to `enters`.
STACKS = {
    "recursion": [("recursion", "reads"), *[("recursion", "deeper")] * 4],
    LONG: [("Привет", "gets")],
    "generator": [("numbers", "yields"), ("generator", "sums")],
    "coroutine": [("inner", "awaits"), ("outer", "awaited"), ("coroutine", "sends")],
    "rlock": [("rlock", "acquires")],
    "entered": [("entered", "enters the lock")],
    "lock": [("lock", "acquires the lock")],
    "selects": [("selects", "selects")],
    "spins": [("spins", "spins")],
    # From CPython 3.12 on, a frame of the interpreter's own lies between the two once the call is specialised.
    "made": [("Made.__init__", "reads in init"), ("made", "makes")],
    "plain": [("plain", "plain")],
}
EXPRESSIONS = {
    "recursion": "os.read(READ, 1)",
    LONG: "очередь.get()",
    "generator": "os.read(READ, 1)",
    "coroutine": "os.read(READ, 1)",
    "rlock": "HELD.acquire()",
    "lock": "TAKEN.acquire()",
    "selects": "select.select([READ], [], [FAR])",
    "made": "os.read(READ, 1)",
    "plain": "os.read(READ, 1)",
}


@pytest.fixture
def place(python: Interpreter, request: pytest.FixtureRequest) -> Place:
    return make_place(python, request, "dump")


def stands(threads: dict) -> bool:
    """Each thread but the one that spins is in the kernel, below its own function. The main one too: until it is, it and the one that spins take the GIL in turn."""
    stays = {"MainThread", "event", *STACKS} - {"spins"}
    return set(STACKS) <= set(threads) and all(threads[name]["certainty"] == "slept" and threads[name]["state"].startswith("in ") for name in stays)


def standing(program: Program, *flags: str) -> dict:
    """Its threads, once all of them stand where they stay."""
    for _ in range(LOOKS_MAX):
        threads = program.threads(*flags)
        innermost = next((frame for frame in threads["spins"]["frames"] if frame["kind"] == "python"), None) if stands(threads) else None
        if innermost and innermost["name"] == "spins":
            return threads
    raise AssertionError(threads)


def test_each_thread_with_its_stack_and_what_it_waits_for(place: Place) -> None:
    with running(place, PROGRAM) as program:
        numbers = json.loads(program.said)
        threads = standing(program)
        for name, stack in STACKS.items():
            thread = threads[name]
            assert thread["own_tid"] == numbers[name]
            assert (thread["end"], thread["is_cut_by_time"]) == ("complete", False), thread
            seen = [(frame["name"], frame["line"]) for frame in thread["frames"]]
            assert seen[: len(stack)] == [(function, line_of(PROGRAM, mark)) for function, mark in stack]
            assert [function for function, _ in seen[len(stack) :]][:2] == ["enters", "Thread.run"], seen
            assert thread["frames"][0]["file"].endswith(PROGRAM)
            if name in EXPRESSIONS:
                assert thread["frames"][0]["expression"] == EXPRESSIONS[name]
        main = threads["MainThread"]
        assert (main["tid"], main["frames"][-1]["name"]) == (program.pid, "<module>")
        for name in ("recursion", "generator", "coroutine", "made", "plain"):
            (descriptor,) = threads[name]["system_call"]["descriptors"]
            assert threads[name]["state"] == "in read(2) on a pipe"
            assert descriptor["target"].startswith("pipe:["), descriptor
        (read,) = threads["plain"]["system_call"]["descriptors"]
        assert threads["selects"]["system_call"]["descriptors"] == [read, {**read, "number": 100}]
        assert threads["selects"]["state"] in ("in select(2) on a pipe", "in pselect6(2) on a pipe")
        event = [(frame["name"], frame["line"]) for frame in threads["event"]["frames"]]
        assert [name for name, _ in event[:2]] == ["Condition.wait", "Event.wait"] and event[2] == ("event", line_of(PROGRAM, "waits for the event"))
        for name in ("rlock", "entered", "lock", "event"):
            assert threads[name]["system_call"]["name"] == "futex"
        # A Lock does not know its holder, and an Event has none.
        assert (threads["lock"]["held_by"], threads["event"]["held_by"]) == (None, None)
        for name in ("rlock", "entered"):
            assert (threads[name]["state"], threads[name]["held_by"]) == ("in futex(2) on a threading.RLock", program.pid)
        assert threads["lock"]["state"] == threads["event"]["state"] == "in futex(2) on a threading.Lock"
        assert threads[LONG]["state"] == "in futex(2) on a queue.SimpleQueue"
        spins = threads["spins"]
        assert (spins["certainty"], spins["state"] in ("running", "waiting for CPU")) == ("stopped", True), spins
        assert spins["stopped_ns"] > 0
        text = genba_said("dump", str(program.pid))
        assert f"process {program.pid} · CPython {place.interpreter.version}" in text
        assert f"{LONG} (" in text


def test_local_variables(place: Place) -> None:
    with running(place, PROGRAM) as program:
        threads = standing(program, "--locals")
        frame = threads["plain"]["frames"][0]
        found = {local["name"]: local for local in frame["locals"]}
        values = {name: local["value"] for name, local in found.items() if local["value"] is not None}
        assert values == {
            "number": "42", "negative": "-1000000000000", "flag": "True", "nothing": "None", "text": repr("a" * 60),
            "кириллица": r"'я\n'", "data": r"b'\x00b'", "share": "0.5",
        }
        lengths = {name: (local["type"], local["length"], local["cut"]) for name, local in found.items()}
        assert lengths["big"] == ("int", 201, 201)
        assert lengths["text"] == ("str", 100, 40)
        assert [lengths[name] for name in ("items", "table", "some")] == [("list", 3, 0), ("dict", 1, 0), ("set", 2, 0)]
        assert found["captures"]["type"] == "function"
        depths = [frame["locals"][0] for frame in threads["recursion"]["frames"][:5]]
        assert [(local["name"], local["value"]) for local in depths] == [("depth", str(depth)) for depth in range(5)]
        assert threads[LONG]["frames"][0]["locals"][1]["value"] == "'мир'"
        init, caller = threads["made"]["frames"][:2]
        assert [(local["name"], local["value"]) for local in init["locals"][1:]] == [("waits", "True")]
        assert [(local["name"], local["value"]) for local in caller["locals"]] == [("turn", "99")]
        text = genba_said("dump", str(program.pid), "--locals")
        assert "secret" not in text
        assert "big: int, 201 bits, 201 not shown" in text


def test_who_waits_for_the_gil_and_who_collects_with_it(place: Place) -> None:
    with running(place, "collecting.py") as program:
        numbers = json.loads(program.said)
        for _ in range(LOOKS_MAX):
            threads = program.threads()
            assert {"collects", "wants"} <= threads.keys(), threads
            collects, wants = threads["collects"], threads["wants"]
            assert (collects["own_tid"], wants["own_tid"]) == (numbers["collects"], numbers["wants"])
            is_waiting, is_collecting = wants["state"] == "waiting for GIL", collects["state"] == "in gc"
            # Nobody else can have it.
            assert not is_waiting or wants["held_by"] in (collects["tid"], None), wants
            assert not is_collecting or collects["holds_gil"], collects
            if is_waiting and is_collecting and wants["held_by"] is not None:
                break
        else:
            raise AssertionError(threads)
        assert (wants["holds_gil"], wants["certainty"]) == (False, "slept")
        assert [frame["name"] for frame in wants["frames"]][:2] == ["wants", "Thread.run"]
        assert collects["frames"][0]["expression"] == "gc.collect()"


def test_sizes_are_those_of_getsizeof(place: Place) -> None:
    with running(place, "sized.py") as program:
        expected = json.loads(program.said)
        frame = next(frame for frame in next(iter(program.threads("--locals").values()))["frames"] if frame["name"] == "holds")
        found = {local["name"]: local["bytes"] for local in frame["locals"]}
        assert {name: found[name] for name in expected} == expected
        assert f"1000000 items, {expected['million']} bytes of memory" in genba_said("dump", str(program.pid), "--locals")


def test_more_variables_than_are_shown(tmp_path) -> None:
    names = [f"name{index}" for index in range(130)]
    text = f"import sys\ndef many():\n    {' = '.join(names)} = 1\n    print('ready', flush=True)\n    sys.stdin.read()\nmany()\n"
    with started([sys.executable, "-c", text], cwd=tmp_path) as program:
        frame = next(frame for frame in next(iter(program.threads("--locals").values()))["frames"] if frame["name"] == "many")
        assert ([local["name"] for local in frame["locals"]], frame["locals_left_out"]) == (names[:100], 30)
        assert "\n      30 more variables not shown\n" in genba_said("dump", str(program.pid), "--locals")


def check_possible(thread: dict) -> bool:
    """Whether the rule of never_the_same.py can be tried on it: a verified look at one of its threads."""
    frames = [frame for frame in thread["frames"] if frame["file"] and frame["file"].endswith("never_the_same.py")]
    is_turning = bool(frames) and frames[-1]["name"] == "turns"
    if not is_turning or thread["certainty"].startswith("unverified") or thread["end"] != "complete":
        return False
    assert all(frame["locals"] is not None for frame in frames) or thread["is_cut_by_time"], thread
    if thread["is_cut_by_time"]:
        return False
    values = [{local["name"]: local["value"] for local in frame["locals"]} for frame in frames]
    *calls, turns = values
    names = {frame["name"] for frame in frames[:-1]}
    if calls:
        token = int(calls[0]["token"])
        assert {call["token"] for call in calls} == {turns["token"]} == {str(token)}, thread
        assert names == {"left" if token % 2 else "right"}, thread
        depths = [int(call["depth"]) for call in calls]
        assert depths == list(range(token % 12 - len(calls) + 1, token % 12 + 1)), thread
    return True


@pytest.mark.measures
def test_no_verified_stack_is_impossible(place: Place) -> None:
    with running(place, "never_the_same.py", "3") as program:
        tried = 0
        for number in range(DUMPS + LOOKS_MAX):
            if number >= DUMPS and tried >= DUMPS:
                break
            (process,) = program.dump("--locals", "--native")["processes"]
            tried += sum(map(check_possible, process["threads"]))
        assert tried >= DUMPS, "too few looks were verified"
        assert program.process.poll() is None


def test_children(tmp_path) -> None:
    child = "import sys; print('ready', flush=True); sys.stdin.read()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with started([sys.executable, "-c", parent], cwd=tmp_path) as program:
        assert len(program.dump()["processes"]) == 1
        first, second = program.dump("--children")["processes"]
        assert (first["pid"], second["parent"]) == (program.pid, program.pid)
        assert second["threads"][0]["state"] == "in read(2) on a pipe"
        listed = {row["pid"]: row for row in json.loads(genba_said("ps", "--format", "json"))["processes"]}
        for process in (first, second):
            row = listed[process["pid"]]
            assert (row["python"], row["readable"], row["stoppable"]) == (process["python"], True, True)
        assert f"allowed: genba dump {program.pid}" in genba("doctor", str(program.pid)).stdout


def test_children_of_children(tmp_path) -> None:
    """A pool of workers below a process that does not call them itself."""
    # In one write: two workers write to one pipe.
    works = "import os, sys; os.write(1, b'ready\\n'); sys.stdin.read()"
    pool = f"import subprocess, sys\nfor worker in [subprocess.Popen([sys.executable, '-c', {works!r}]) for _ in range(2)]: worker.wait()"
    master = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {pool!r}])"
    with started([sys.executable, "-c", master], cwd=tmp_path) as program:
        assert program.process.stdout.readline() == "ready\n"
        for _ in range(LOOKS_MAX):
            processes = program.dump("--children")["processes"]
            if len(processes) == 4:
                break
        first, second, *workers = processes
        assert (first["pid"], second["parent"]) == (program.pid, program.pid)
        assert [worker["parent"] for worker in workers] == [second["pid"]] * 2, processes


# A frame with many values of its own on top of another.
DEEP = """\
import sys
sys.setrecursionlimit(100_000)
def deep(depth, last):
    NAMES = [depth * 10**9 + number for number in range(60)]
    return deep(depth - 1, last) if depth else last()
def spins():
    print('ready', flush=True)
    while True: pass
def waits():
    print('ready', flush=True)
    sys.stdin.read()
""".replace("NAMES", ", ".join(f"name{number}" for number in range(60)))


def test_what_there_was_no_time_for_is_marked(tmp_path) -> None:
    """A thread is stopped for a moment, whatever there is to be read of it."""
    with started([sys.executable, "-c", f"{DEEP}deep(1400, spins)"], cwd=tmp_path) as program:
        for _ in range(LOOKS_MAX):
            (thread,) = program.threads("--locals").values()
            text = genba_said("dump", str(program.pid), "--locals")
            # A thread that gets no CPU is not stopped, and there is no hurry then. If genba gets none, the time is over before the first frame.
            if thread["certainty"] == "stopped" and thread["frames"] and "unverified" not in text:
                break
        assert (thread["certainty"], thread["is_cut_by_time"], thread["frames"][0]["name"]) == ("stopped", True, "spins")
        assert "\n  cut: the time for which the thread may be stopped was over\n" in text


def test_more_frames_than_are_read_are_marked(tmp_path) -> None:
    with started([sys.executable, "-c", f"{DEEP}deep(2000, waits)"], cwd=tmp_path) as program:
        for _ in range(LOOKS_MAX):
            (thread,) = program.threads().values()
            if (thread["state"], thread["certainty"]) == ("in read(2) on a pipe", "slept"):
                break
        assert (thread["certainty"], thread["end"], thread["is_cut_by_time"]) == ("slept", "too_deep", False)
        names = [frame["name"] for frame in thread["frames"]]
        assert names[0] == "waits" and set(names[1:]) == {"deep"} and 1000 < len(names) < 2000, len(names)
        assert "\n  cut: more frames than genba reads\n" in genba_said("dump", str(program.pid))


THROUGH_C = """
import sys
sys.setrecursionlimit(100_000)
def through_c(depth):
    if depth:
        return next(map(through_c, [depth - 1]))
    print("ready", flush=True)
    sys.stdin.read()
through_c(1200)
"""


def test_a_stack_that_is_cut_has_variables_where_c_lies_between_its_frames(tmp_path) -> None:
    with started([sys.executable, "-c", THROUGH_C], cwd=tmp_path) as program:
        for _ in range(LOOKS_MAX):
            (thread,) = program.threads("--locals").values()
            # One that waits is not stopped: there is time for all of it.
            if (thread["state"], thread["certainty"]) == ("in read(2) on a pipe", "slept"):
                break
        assert (thread["end"], thread["is_cut_by_time"]) == ("too_deep", False)
        values = [[(local["name"], local["value"]) for local in frame["locals"] or []] for frame in thread["frames"]]
        assert len(values) > 700 and values == [[("depth", str(depth))] for depth in range(len(values))]


def test_threads_that_do_the_same_are_one_paragraph(tmp_path) -> None:
    program = (
        "import os, sys, threading\n"
        "reads, _ = os.pipe()\n"
        "def waits(descriptor): os.read(descriptor, 1)\n"
        "def other(): os.read(reads, 1)\n"
        "for number in range(30): threading.Thread(target=waits, args=(reads,), name=f'pool_{number}', daemon=True).start()\n"
        "for number in range(2): threading.Thread(target=other, name=f'other_{number}', daemon=True).start()\n"
        "print('ready', flush=True); sys.stdin.read()\n"
    )
    with started([sys.executable, "-c", program], cwd=tmp_path) as program:
        for _ in range(LOOKS_MAX):
            threads = program.dump()["processes"][0]["threads"]
            if len(threads) == 33 and all(thread["certainty"] == "slept" and thread["state"] == "in read(2) on a pipe" for thread in threads):
                break
        else:
            raise AssertionError(threads)
        text = genba_said("dump", str(program.pid))
    assert text.count("waits ") == 1 and text.count("other ") == 1, text
    (others,) = (line for line in text.splitlines() if line.startswith("and 29 more threads like it: "))
    named = [thread for thread in threads if (thread["name"] or "").startswith("pool_")][1:9]
    assert others == "and 29 more threads like it: " + ", ".join(f"{thread['tid']} {thread['name']}" for thread in named) + ", …"
    # Two of a kind have a line each.
    assert all(f"· other_{number} (" in text for number in range(2)), text


def test_the_main_thread_of_a_program_without_threading(tmp_path) -> None:
    """`threading` names threads, and `-S -E` imports nothing that needs it."""
    command = [sys.executable, "-SE", "-c", "import sys; print('threading' in sys.modules, flush=True); sys.stdin.read()"]
    with started(command, cwd=tmp_path) as program:
        assert program.said == "False\n"
        comm = Path(f"/proc/{program.pid}/comm").read_text().strip()
        said = genba_said("dump", str(program.pid))
        assert f"thread {program.pid} · main thread ({comm}) · " in said and said.splitlines()[1] == "1 thread, not stopped"


def test_a_descriptor_that_is_polled_twice_is_shown_once() -> None:
    polls = "import ctypes; print('ready', flush=True); ctypes.CDLL(None).poll((ctypes.c_uint64 * 2)(1 << 32, 1 << 32), ctypes.c_ulong(2), -1)"
    with started([sys.executable, "-c", polls]) as program:
        for _ in range(LOOKS_MAX):
            (thread,) = program.threads().values()
            if thread["state"].startswith("in poll("):
                break
        assert [one["number"] for one in thread["system_call"]["descriptors"]] == [0, 0], thread
        assert genba_said("dump", str(program.pid)).count("descriptor 0: pipe:[") == 1


def test_c_frames(place: Place) -> None:
    with running(place, PROGRAM) as program:
        without = standing(program)
        threads = standing(program, "--native")
        for name in STACKS:
            frames = threads[name]["frames"]
            python = [(frame["name"], frame["line"]) for frame in frames if frame["kind"] == "python"]
            assert python == [(frame["name"], frame["line"]) for frame in without[name]["frames"]] or name == "spins", name
            modules = [frame["module"].rsplit("/", 1)[-1] for frame in frames if frame["kind"] == "c"]
            cut = [frame["name"] for frame in frames if frame["kind"] == "mark"]
            if name != "spins":
                # It waits in the kernel, below a function of the interpreter's, below a Python frame.
                assert frames[0]["kind"] == "c" and modules[0] == "libc.so.6", frames
                assert frames[1]["kind"] == "c" and ("python" in modules[1] or modules[1] == "libc.so.6"), frames
                assert not cut or cut == ["[C stack cut: read from outside]"], cut
            else:
                assert (cut, modules[-1]) == ([], "libc.so.6"), frames
            if not cut:
                assert frames[-1]["kind"] == "c" and modules[-2:] == ["libc.so.6", "libc.so.6"], frames
        if not place.interpreter.is_stripped:
            assert any(frame["name"] == "os_read" for frame in threads["plain"]["frames"]), threads["plain"]
        assert "libc.so.6\n" in genba_said("dump", str(program.pid), "--native")


def test_c_frames_between_trampolines(place: Place) -> None:
    """`-X perf`: CPython calls each function through code of no file. `spins` is stopped, so all of its registers are known."""
    if place.interpreter.version.startswith("3.11."):
        pytest.skip("trampolines came with CPython 3.12")
    with running(place, PROGRAM, python_flags=("-X", "perf")) as program:
        frames = standing(program, "--native")["spins"]["frames"]
    assert not [frame for frame in frames if frame["kind"] == "mark"], frames
    python = [frame["name"] for frame in frames if frame["kind"] == "python"]
    assert python[:2] == ["spins", "enters"] and frames[-1]["module"].endswith("/libc.so.6"), frames
    assert not any(frame["name"] == "py_trampoline_evaluator" for frame in frames), frames


def without_limit() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@pytest.mark.parametrize("writer", ["kernel", "gcore"])
def test_a_core_file(place: Place, writer: str) -> None:
    if place.interpreter.root is not None:
        pytest.skip("the files of its core lie in a chroot")
    if writer == "kernel" and Path("/proc/sys/kernel/core_pattern").read_text() != "core\n":
        pytest.skip("the system keeps core files elsewhere")
    if writer == "gcore" and shutil.which("gcore") is None:
        pytest.skip("gdb is not installed, which has gcore")
    with running(place, PROGRAM, preexec_fn=without_limit) as program:
        standing(program)
        if writer == "kernel":
            program.process.send_signal(signal.SIGABRT)
            program.process.wait(60)
        else:
            # It leaves out what lies unchanged in a file, code above all.
            written = subprocess.run(["gcore", "-o", place.outside / "core", str(program.pid)], capture_output=True, text=True, timeout=120)
            assert written.returncode == 0, written
    (core,) = place.outside.glob("core*")
    (process,) = json.loads(genba_said("dump", "--core", str(core), "--locals", "--native", "--format", "json"))["processes"]
    assert (process["pid"], process["python"]) == (program.pid, place.interpreter.version)
    threads = {thread["name"]: thread for thread in process["threads"]}
    assert {thread["certainty"] for thread in threads.values()} == {"core file"}
    for name, stack in STACKS.items():
        frames = threads[name]["frames"]
        seen = [(frame["name"], frame["line"]) for frame in frames if frame["kind"] == "python"]
        assert seen[: len(stack)] == [(function, line_of(PROGRAM, mark)) for function, mark in stack]
        # All registers are in the file.
        assert {frame["kind"] for frame in frames} == {"python", "c"}, frames
        assert frames[-1]["module"].endswith("libc.so.6"), frames
    assert threads["recursion"]["state"] == "in read(2)"
    frame = next(frame for frame in threads["plain"]["frames"] if frame["kind"] == "python")
    values = {local["name"]: local["value"] for local in frame["locals"]}
    assert (values["number"], values["share"]) == ("42", "0.5")
    cut = core.with_name("cut")
    cut.write_bytes(core.read_bytes()[:1000])
    for path, words in ((cut, "it is cut"), (Path(__file__), "it is not a 64-bit ELF file")):
        done = genba("dump", "--core", path)
        assert (done.returncode, done.stdout) == (1, ""), done
        assert f"error: cannot read the core file {path}\n  {words}\nhint: " in done.stderr


def test_in_other_namespaces(place: Place) -> None:
    interpreter = place.interpreter
    if interpreter.root is not None:
        pytest.skip("its chroot is tried by the other tests")
    program = f"{place.repository_inside}/tests/programs/{PROGRAM}"
    command = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc", interpreter.path, program]
    if subprocess.run(["unshare", "--mount", "--pid", "--net", "--fork", "true"], capture_output=True).returncode:
        pytest.skip("no rights for namespaces of its own")
    with started(command, cwd=place.outside, env=place.environment({"PYTHONUTF8": "1"})) as outer:
        numbers = json.loads(outer.said)
        for _ in range(LOOKS_MAX):
            _, process = [None, *json.loads(genba_said("dump", str(outer.pid), "--children", "--format", "json"))["processes"]]
            threads = {thread["name"]: thread for thread in process["threads"]}
            if stands(threads):
                break
        assert {name: threads[name]["own_tid"] for name in numbers} == numbers
        assert process["threads"][0]["own_tid"] == 1
        assert threads["recursion"]["frames"][0]["expression"] == EXPRESSIONS["recursion"]

