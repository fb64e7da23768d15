"""`genba heap`: the program's own classes exactly, however their objects are kept alive, and a program that does not know it was there.

Owns: what a table of classes must say of programs whose objects are counted. The programs count for themselves (tests/programs/heaped.py).
"""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from compiled import package_folder
from entered import on, running
from recording import Workshop, binary, genba
from running_program import Program, started, until
from soak import SOAK

ROUNDS = 100 if SOAK else 12
WAYS = ("--fork", "--in-place")


@contextmanager
def heaped(workshop: Workshop, *arguments: str, program: str = "tests/programs/heaped.py") -> Iterator[tuple[Program, dict]]:
    command = workshop.place.command([workshop.interpreter.path, workshop.program(program), *arguments])
    process = subprocess.Popen(
        command, cwd=workshop.place.outside, env=workshop.place.environment({}), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        assert line.startswith("ready "), process.communicate(timeout=5)[1]
        yield Program(process, workshop), json.loads(line.removeprefix("ready "))
    finally:
        process.kill()
        process.communicate()


def heap(program: Program, *flags: str) -> dict:
    done = genba("heap", str(program.pid), "--format", "json", *flags)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def counts(page: dict, module: str = "__main__") -> dict[str, int]:
    return {row["name"]: row["count"] for row in page["classes"] if row["module"] == module}


def state(program: Program) -> tuple:
    return program.status("Threads"), program.descriptors(), program.status("SigBlk")


def minor_faults(program: Program) -> int:
    """Of all threads, those that have ended too. The name in parentheses may hold anything."""
    return int(Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()[7])


def ended_well(program: Program) -> None:
    assert program.end() == {"whole": True, "kept": 13, "tracked": True, "enabled": False}


@pytest.mark.parametrize("way", WAYS)
def test_the_classes_of_the_program_are_counted_exactly(workshop: Workshop, way: str) -> None:
    with heaped(workshop) as (program, expected):
        before = state(program)
        page = heap(program, way)
        assert page["walked"] == ("copy" if way == "--fork" else "in_place")
        found = counts(page)
        assert {name: found.get(name, 0) for name in expected["counts"]} == expected["counts"]
        by_name = {(row["module"], row["name"]): row for row in page["classes"]}
        assert by_name["__main__", "Slotted"]["bytes"] == expected["slotted_bytes"]
        # Attributes count with the instance that has them: more than its block.
        assert by_name["__main__", "Plain"]["bytes"] > 3_000 * 56
        assert by_name["builtins", "str"]["count"] > 10_000 + 3_000 + 5_000
        assert (page["objects"], page["bytes"]) == tuple(sum(row[key] for row in page["classes"]) for key in ("count", "bytes"))
        assert page["unreached"]["interpreters"] == 0
        # Nothing is left, and a second look finds the same.
        assert until(lambda: state(program) == before), (state(program), before)
        assert {name: counts(heap(program, way)).get(name, 0) for name in expected["counts"]} == expected["counts"]
        ended_well(program)


def test_the_table_says_how_it_was_made(workshop: Workshop) -> None:
    with heaped(workshop) as (program, _):
        done = genba("heap", str(program.pid), "--top", "40", "--fork")
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert re.match(rf"process {program.pid} · CPython {re.escape(workshop.interpreter.version)} · [\d,]+ objects, [\d.]+ MB in \d+ classes", lines[0])
        assert re.search(r"^ +480 kB +[\d.]+ % +10,000 +48 bytes  __main__\.Slotted$", done.stdout, re.MULTILINE), done.stdout
        assert re.search(r"\d+ more classes \(--limit 0 shows all\)", done.stdout)
        share = f"{heap(program)['unreached']['share_max'] * 100:g}"
        # Of a large program: test_heap_truth.py counts them there.
        assert f"\nnot reached: objects that only C code holds, mostly short strings (in genba's tests at most {share} % of over 250,000 objects)\n" in done.stdout
        assert re.search(r"^walked in a copy of the process: the program was held for [\d.]+ (µs|ms), the copy lived for", done.stdout, re.MULTILINE)
        # What the copy cost the program beside that: the pages that it wrote to first.
        faults = re.search(r"^meanwhile the program had ([\d,]+) page faults?, copying [\d.]+ (?:bytes|kB|MB) at most$", done.stdout, re.MULTILINE)
        assert faults and heap(program, "--in-place")["page_faults"] is None, done.stdout
        in_place = genba("heap", str(program.pid), "--in-place").stdout
        assert re.search(r"^walked in place: the program was held for [\d.]+ (µs|ms)$", in_place, re.MULTILINE), in_place
        ended_well(program)


def test_a_small_program_is_walked_in_place_and_a_large_one_is_not(workshop: Workshop) -> None:
    text = "import sys\nkept = [float(number) for number in range(int(sys.argv[1]))]\nprint('ready', flush=True)\ninput()\nprint('{}')\n"
    program_file = workshop.write("floats.py", text)
    with started(workshop, program_file, "100") as program:
        page = heap(program)
        assert page["walked"] == "in_place" and page["objects"] < 500_000
        why = r"fewer than half a million objects find room in its [\d.]+ MB"
        assert re.fullmatch(why, page["why_in_place"])
        text = genba("heap", str(program.pid)).stdout
        assert re.search(rf"^walked in place, since {why}: the program was held for [\d.]+ (µs|ms)$", text, re.MULTILINE), text
        assert heap(program, "--fork")["walked"] == "copy"
        assert program.end() == {}
    with started(workshop, program_file, "800000") as program:
        page = heap(program)
        assert (page["walked"], page["why_in_place"]) == ("copy", None) and page["objects"] > 800_000
        assert program.end() == {}


# Each round writes to all pages of the objects: their counts of references are there.
TOUCHES = """
import sys, threading
kept = [float(number) for number in range(800_000)]
end = threading.Event()
def touches():
    while not end.is_set():
        for one in kept:
            pass
thread = threading.Thread(target=touches)
thread.start()
print("ready", flush=True)
sys.stdin.readline()
end.set()
thread.join()
print("{}")
"""


@on("3.13")
def test_what_a_copy_costs_a_program_that_goes_on_is_counted(workshop: Workshop) -> None:
    """No more than the kernel counts around the command. A machine that gave the program no CPU while the copy lived tells nothing: then it is asked again."""
    with started(workshop, workshop.write("touches.py", TOUCHES)) as program:

        def is_counted() -> bool:
            before = minor_faults(program)
            told = heap(program, "--fork")["page_faults"]
            assert told <= minor_faults(program) - before
            return told > 100

        assert until(is_counted, seconds=60)
        assert program.end() == {}


@pytest.mark.measures
def test_a_busy_program_is_not_disturbed(workshop: Workshop) -> None:
    with started(workshop, workshop.program("tests/programs/heap_server.py")) as program:
        before = state(program)
        for number in range(ROUNDS):
            page = heap(program, WAYS[number % 4 == 3], *(["--live-only"] if number % 3 == 1 else []))
            assert page["objects"] > 5_000 and page["walked"] == ("in_place" if number % 4 == 3 else "copy")
        for name, way in zip(("dict", "str"), WAYS):
            assert genba("heap", "refs", str(program.pid), "--class", name, way).returncode == 0
        assert until(lambda: state(program) == before), (state(program), before)
        assert program.end() == {"wrong": [], "children": 0, "idle": []}


def test_a_program_that_is_recorded_has_a_heap_too(workshop: Workshop) -> None:
    target = [workshop.interpreter.path, workshop.program("tests/programs/heaped.py")]
    process = workshop.start(target, ["-o", f"{workshop.place.inside}/recording-0.genba", "--quiet"], {}, stdin=subprocess.PIPE)
    line = process.stdout.readline()
    assert line.startswith("ready "), process.communicate(timeout=5)[1]
    expected = json.loads(line.removeprefix("ready "))["counts"]
    pids = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    (pid,) = pids
    done = genba("heap", str(pid), "--format", "json")
    assert done.returncode == 0, done.stderr
    found = counts(json.loads(done.stdout))
    assert {name: found.get(name, 0) for name in expected} == expected
    process.stdin.write("\n")
    process.stdin.flush()
    run = workshop.finish(process, "recording-0.genba")
    assert json.loads(run.stdout.splitlines()[-1])["whole"], run.stderr


def test_names_that_nobody_should_have(workshop: Workshop) -> None:
    with heaped(workshop, "names") as (program, _):
        page = heap(program)
        three = {(row["module"], row["name"]): row["is_cut"] for row in page["classes"] if row["count"] == 3}
        assert three[("m" * 1024, "L" * 1024)] is True
        assert three[(None, "WithoutText")] is False
        assert ("__main__", "Half\ufffd") in three and ("модуль", "Füße") in three and ("__main__", "numpy.ndarray") in three
        assert ("__main__", "odd_names.<locals>.Liar") not in three and ("__main__", "Honest") in three and ("__main__", "Liar2") in three
        longest = max(map(len, genba("heap", str(program.pid), "--top", "0").stdout.splitlines()))
        assert longest < 200
        ended_well(program)


def test_a_broken_class_ends_the_copy_and_not_the_program(workshop: Workshop) -> None:
    with heaped(workshop, "broken") as (program, _):
        for _ in range(3):
            done = genba("heap", str(program.pid), "--fork")
            assert done.returncode == 1 and not done.stdout
            assert "its copy was ended by signal 11 at an object of class Plain" in done.stderr, done.stderr
            assert "hint: the tp_traverse of Plain is broken" in done.stderr
        ended_well(program)


def test_what_grew_between_two_looks(workshop: Workshop) -> None:
    program_file = workshop.write(
        "grows.py",
        "import sys\nclass Leak: pass\nkept = [Leak() for _ in range(100)]\nprint('ready', flush=True)\nsys.stdin.readline()\n"
        "kept += [Leak() for _ in range(250)]\nprint('more', flush=True)\nsys.stdin.readline()\n",
    )
    before, after = workshop.place.outside / "before.json", workshop.place.outside / "after.json"
    with started(workshop, program_file) as program:
        first = genba("heap", str(program.pid), "-o", str(before))
        assert first.returncode == 0, first.stderr
        again = genba("heap", str(program.pid), "-o", str(before))
        assert again.returncode == 1 and "exists already" in again.stderr and "--force" in again.stderr
        few = json.loads(genba("heap", str(program.pid), "--limit", "2", "--format", "json").stdout)
        assert len(few["classes"]) == 2 and few["classes_left_out"] > 2 and few["bytes"] > sum(row["bytes"] for row in few["classes"])
        program.process.stdin.write("\n")
        program.process.stdin.flush()
        assert program.process.stdout.readline() == "more\n"
        assert genba("heap", str(program.pid), "-o", str(after)).returncode == 0
    # A file is shown as the process was.
    assert genba("heap", str(before)).stdout == first.stdout
    assert json.loads(genba("heap", str(before), "--format", "json").stdout) == json.loads(before.read_text())
    assert " more class" in genba("heap", "before.json", "--limit", "2", cwd=before.parent).stdout
    whole, limited = json.loads(before.read_text()), genba("heap", str(before), "--limit", "2", "--format", "json").stdout
    assert json.loads(limited) == {**whole, "classes": whole["classes"][:2], "classes_left_out": len(whole["classes"]) - 2}
    # A file without some is not compared: they would look like gone.
    (before.parent / "limited.json").write_text(limited)
    lacking = genba("heap", "diff", "limited.json", "after.json", cwd=before.parent)
    assert (lacking.returncode, lacking.stdout) == (1, "") and "--limit left " in lacking.stderr, lacking
    first_of_all = json.loads(genba("heap", "diff", "before.json", "after.json", "--limit", "1", "--format", "json", cwd=before.parent).stdout)
    assert len(first_of_all["classes"]) == 1 and first_of_all["classes_left_out"] > 0
    for flags in (["--collect"], ["--fork"], ["--live", "1s"], ["-o", "other.json"]):
        wrong = genba("heap", "before.json", *flags, cwd=before.parent)
        assert (wrong.returncode, wrong.stdout) == (2, "") and wrong.stderr.endswith("hint: genba heap before.json\n"), wrong
    page = json.loads(genba("heap", "diff", str(before), str(after), "--format", "json").stdout)
    leak = next(row for row in page["classes"] if row["name"] == "Leak")
    assert (leak["count_before"], leak["count_after"]) == (100, 350)
    text = genba("heap", "diff", str(before), str(after)).stdout
    assert re.search(r"^ +\+[\d.]+ kB +\+250 +350  __main__\.Leak$", text, re.MULTILINE), text
    recording = workshop.place.outside / "app.genba"
    recording.write_bytes(b"GENBA\xff\xfe\x00")
    for path in (workshop.place.outside / "grows.py", recording):
        for words in (["diff", str(path), str(after)], [str(path)]):
            wrong = genba("heap", *words)
            assert (wrong.returncode, wrong.stdout) == (1, "") and f"{path} is no heap that genba has kept" in wrong.stderr
            assert "hint: genba heap PID -o FILE keeps one" in wrong.stderr


def test_what_is_kept_is_for_its_owner_alone(workshop: Workshop) -> None:
    program_file = workshop.write("waits.py", "import sys\nprint('ready', flush=True)\nsys.stdin.readline()\n")
    file, theirs = workshop.place.outside / "heap.json", workshop.place.outside / "theirs.json"
    theirs.write_text("theirs")
    theirs.chmod(0o644)
    with started(workshop, program_file, "--api-token", "hunter2", "postgres://me:hunter3@host/") as program:
        for path, flags in ((file, ()), (theirs, ("--force",))):
            assert genba("heap", str(program.pid), "-o", str(path), *flags).returncode == 0
            assert path.stat().st_mode & 0o777 == 0o600
            assert json.loads(path.read_text())["argv"][-3:] == ["--api-token", "***", "postgres://***@host/"]
        assert "hunter" not in json.dumps(heap(program))


def grown(program: Program) -> dict[str, int]:
    """Objects by class that came after a line to the program, which says when they are there."""
    before = {(row["module"], row["name"]): row["count"] for row in heap(program)["classes"]}
    program.says("\n")
    assert program.process.stdout.readline() == "more\n"
    return {f"{row['module']}.{row['name']}": row["count"] - before.get((row["module"], row["name"]), 0) for row in heap(program)["classes"]}


@on("3.13")
def test_dicts_of_attributes_are_counted(workshop: Workshop) -> None:
    """`vars`, pickle and copy leave one in an instance, beside the attributes or in their place."""
    text = (
        "import sys\nclass User:\n    def __init__(self, number): self.number, self.name = number, 'name'\n"
        "users = [User(number) for number in range(6_000)]\nprint('ready', flush=True)\nsys.stdin.readline()\n"
        "[vars(user) for user in users[:3_000]] and None\n[user.__dict__.update(late=user) for user in users[3_000:4_000]] and None\n"
        "print('more', flush=True)\nsys.stdin.readline()\nprint('{}')\n"
    )
    with started(workshop, workshop.write("users.py", text)) as program:
        assert abs(grown(program)["builtins.dict"] - 4_000) <= 2
        assert program.end() == {}


@on("3.11", "3.13", "3.14", "3.15")
def test_objects_in_members_of_classes_in_c_are_counted(workshop: Workshop) -> None:
    """The collector does not know these classes, or their `tp_traverse` says nothing of what cannot lead back."""
    text = (
        "import bz2, os, sys, zlib\nos.mkdir('many')\nfor number in range(500): open(f'many/file{number}', 'w').close()\n"
        "packed, twice = zlib.compress(b'x'), bz2.compress(b'x')\nprint('ready', flush=True)\nsys.stdin.readline()\n"
        "entries = list(os.scandir('many'))\nstates = [entry.stat() for entry in entries[:100]] and None\n"
        "inflaters = [zlib.decompressobj() for _ in range(300)] + [bz2.BZ2Decompressor() for _ in range(200)]\n"
        "for one in inflaters[:300]: one.decompress(packed + b'rest' * 50)\nfor one in inflaters[300:]: one.decompress(twice + b'rest' * 50)\n"
        "print('more', flush=True)\nsys.stdin.readline()\nprint('{}')\n"
    )
    with started(workshop, workshop.write("members.py", text)) as program:
        found = grown(program)
        # The bz2 of 3.15 has no members.
        unused = 500 if workshop.interpreter.minor_number < 15 else 300
        assert 1_000 <= found["builtins.str"] < 1_010 and unused <= found["builtins.bytes"] < unused + 10, found
        assert (found["posix.DirEntry"], found["os.stat_result"]) == (500, 100)
        assert program.end() == {}


def test_a_collection_is_run_where_one_is_asked_for(workshop: Workshop) -> None:
    program_file = workshop.write(
        "garbage.py",
        "import gc, json, sys\nENDED = []\nclass Garbage:\n    def __del__(self):\n        ENDED.append(1)\ngc.disable()\nfor _ in range(250):\n    one = Garbage()\n    one.itself = one\n"
        "one = None\nprint('ready', flush=True)\nsys.stdin.readline()\nprint(json.dumps({'ended': len(ENDED), 'enabled': gc.isenabled()}), flush=True)\n",
    )
    with started(workshop, program_file) as program:
        page = heap(program)
        assert (counts(page)["Garbage"], page["collection"]) == (250, None)
        for way in WAYS:
            page = heap(program, "--collect", way)
            assert "Garbage" not in counts(page)
            assert page["collection"]["collected"] >= (250 if way == "--fork" else 0)
        assert "a full collection came first: it found" in genba("heap", str(program.pid), "--collect").stdout
        # The collector is off, as the program wants it.
        assert program.end() == {"ended": 250, "enabled": False}


def test_objects_in_arrays_of_numpy(workshop: Workshop) -> None:
    folder = package_folder(workshop, "numpy")
    program_file = workshop.write(
        "arrays.py",
        "import sys\nimport numpy\nclass Held: pass\nclass Text(str): __slots__ = ()\n"
        "arrays = [numpy.array([Text(f'{row} {place}') for place in range(1000)], dtype=object) for row in range(20)]\n"
        "square = numpy.array([[Text('x') for _ in range(30)] for _ in range(40)], dtype=object)\nview = square[::2, 1:]\n"
        "numbers = numpy.zeros((1000, 125))\nempty = numpy.empty((0, 5), dtype=object)\nunset = numpy.empty(7, dtype=object)\n"
        # The objects of a packed record are at odd addresses, and a field with a title is twice in the dict of fields.
        "kind = [('flag', 'i1'), (('A title', 'one'), object), ('pair', object, (2, 3)), ('inner', [('number', 'f8'), ('deep', object)], 2), ('text', 'U7')]\n"
        "records = numpy.zeros(50, dtype=kind)\n"
        "for field, shape in ((records['one'], (50,)), (records['pair'], (50, 2, 3)), (records['inner']['deep'], (50, 2))):\n"
        "    for place in numpy.ndindex(shape):\n        field[place] = Text('record')\n"
        "odd = records[1::2]\n"
        # An array without dimensions has one value; a view of it has none of its own.
        "single = [numpy.zeros((), dtype='S100000') for _ in range(20)] + [numpy.array(b'z' * 1_000_000)]\nviews = [one[...] for one in single]\n"
        "print('ready', flush=True)\nsys.stdin.readline()\nprint('{}')\n",
    )
    environment = workshop.place.environment({"PYTHONPATH": folder, "OPENBLAS_NUM_THREADS": "1"})
    with running(workshop, [workshop.interpreter.path, program_file], env=environment) as program:
        for way in WAYS:
            page = heap(program, way)
            assert counts(page)["Text"] == 20 * 1000 + 30 * 40 + 50 * (1 + 6 + 2)
            array = next(row for row in page["classes"] if (row["module"], row["name"]) == ("numpy", "ndarray"))
            assert 4_000_000 + 21_200 * 8 <= array["bytes"] < 4_300_000
        assert program.end() == {}


def test_interpreters_with_a_gil_of_their_own_are_named(workshop: Workshop) -> None:
    program_file = workshop.write(
        "subs.py",
        "import sys\nclass Mine: pass\nkept = [Mine() for _ in range(5)]\n"
        "try:\n    import _interpreters as subs\nexcept ImportError:\n    import _xxsubinterpreters as subs\n"
        "made = [subs.create() for _ in range(3)]\nfor one in made:\n    subs.run_string(one, 'class Theirs: pass\\nkept = [Theirs() for _ in range(4)]')\n"
        "print('ready', flush=True)\nsys.stdin.readline()\nprint('{}', flush=True)\nimport os; os._exit(0)\n",
    )
    with started(workshop, program_file) as program:
        page = heap(program)
        has_own_gils = workshop.interpreter.minor_number >= 12
        found = counts(page)
        assert found["Mine"] == 5
        # Of one name in three interpreters: three classes.
        theirs = [row["count"] for row in page["classes"] if row["name"] == "Theirs"]
        assert (page["unreached"]["interpreters"], theirs) in ([(3, [])] if has_own_gils else [(0, [4, 4, 4])])
        assert program.end() == {}


@on("3.11", "3.15")
def test_growth_is_shown_until_ctrl_c(workshop: Workshop) -> None:
    program_file = workshop.write(
        "leaks.py", "import time\nclass Leak: pass\nkept = []\nprint('ready', flush=True)\nwhile True:\n    kept += [Leak() for _ in range(10)]\n    time.sleep(0.01)\n"
    )
    with started(workshop, program_file) as program:
        watch = subprocess.Popen(
            [str(binary()), "heap", str(program.pid), "--live", "200ms", "--top", "5"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        grown = []
        for line in watch.stdout:
            if found := re.search(r"\+([\d,]+) +[\d,]+  __main__\.Leak$", line):
                grown.append(int(found[1].replace(",", "")))
            # Of a program that gets no CPU for a while nothing grows.
            if len(set(grown)) == 3:
                break
        watch.send_signal(signal.SIGINT)
        _, stderr = watch.communicate(timeout=60)
        assert (watch.returncode, stderr) == (0, "")
        assert grown == sorted(grown), grown
        assert program.process.poll() is None


@on("3.13")
def test_the_end_of_the_program_is_said(workshop: Workshop) -> None:
    with started(workshop, workshop.write("waits.py", "import sys\nprint('ready', flush=True)\nsys.stdin.readline()\nprint('{}')\n")) as program:
        command = [str(binary()), "heap", str(program.pid), "--live", "100ms"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watch:
            next(line for line in watch.stdout if line.startswith("after "))
            program.end()
            _, stderr = watch.communicate(timeout=60)
        assert (watch.returncode, stderr) == (0, f"process {program.pid} has ended\n")


@on("3.13")
def test_refusals_say_what_to_do(workshop: Workshop) -> None:
    for arguments, code, words in [
        (["heap"], 2, "no process is named"),
        (["heap", "1", "--fork", "--in-place"], 2, "cannot be used with"),
        (["heap", "4194303"], 1, "there is no process 4194303"),
        (["heap", "typo.json"], 1, "error: cannot read typo.json: no such file or directory\n"),
        (["heap", "diff", "typo.json", "typo.json"], 1, "error: cannot read typo.json: no such file or directory\n"),
    ]:
        done = genba(*arguments)
        assert done.returncode == code and words in done.stderr and "hint: " in done.stderr, done.stderr
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        done = genba("heap", str(sleeper.pid))
        assert done.returncode == 1 and "hint: " in done.stderr, done.stderr
    finally:
        sleeper.kill()
        sleeper.wait()
