"""`genba trace` beside `python -m cProfile` of the same interpreter: the same functions, the same calls, the same callers.

Owns: what is left out of the comparison, in words. cProfile starts the program by `exec` and ends itself by `disable`, which genba does not.
"""

import base64
import contextlib
import gzip
import json
import marshal
import os
import random
import re
import signal
import subprocess
from pathlib import Path

import pytest

from clock_source import another_clock_source
from figures import Figure
from recording import RUN_SECONDS_MAX, Workshop, genba, genba_said
from soak import SOAK

Function = tuple[str, int, str]
# (primitive calls, calls) of a function, and (calls, primitive calls) by caller.
Counts = dict[Function, tuple[int, int, dict[Function, tuple[int, int]]]]

OF_CPROFILE = {("~", 0, "<built-in method builtins.exec>"), ("~", 0, "<method 'disable' of '_lsprof.Profiler' objects>")}


def traced(workshop: Workshop, *words: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    command = workshop.place.command([workshop.place.genba_inside, "trace", *words])
    return subprocess.run(
        command,
        cwd=workshop.place.outside,
        env=workshop.place.environment(environment or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS_MAX,
    )


def plainly(workshop: Workshop, *words: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(
        workshop.place.command([workshop.interpreter.path, *words]),
        cwd=workshop.place.outside,
        env=workshop.place.environment(environment or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS_MAX,
    )


def counts(path: Path) -> Counts:
    """Files by their last part: cProfile has the name that was typed. `exec` and `disable` are cProfile's own, but for calls of the program's."""
    found: Counts = {}
    for (file, line, name), (primitive, calls, _, _, callers) in marshal.loads(path.read_bytes()).items():
        of_callers = {
            (os.path.basename(of[0]), *of[1:]): tuple(numbers[:2]) for of, numbers in callers.items() if of not in OF_CPROFILE
        }
        found[os.path.basename(file), line, name] = (primitive, calls, of_callers)
    return found


def called(path: Path, function: str) -> int:
    return sum(numbers[1] for (_, _, name), numbers in counts(path).items() if name == function)


def compare(workshop: Workshop, program: str, *arguments: str) -> tuple[Counts, Counts]:
    ours, theirs = both_files(workshop, program, *arguments)
    return counts(ours), counts(theirs)


def both_files(workshop: Workshop, program: str, *arguments: str, environment: dict[str, str] | None = None) -> tuple[Path, Path]:
    """genba's and cProfile's. The program ends well, and prints the same."""
    inside, outside = workshop.place.inside, workshop.place.outside
    theirs = plainly(workshop, "-m", "cProfile", "-o", f"{inside}/theirs.prof", program, *arguments, environment=environment)
    assert theirs.returncode == 0, theirs.stderr
    words = ("-o", f"{inside}/ours.prof", "--force", "--python", workshop.interpreter.path, program, *arguments)
    ours = traced(workshop, *words, environment=environment)
    assert (ours.returncode, ours.stdout) == (0, theirs.stdout), ours.stderr
    return outside / "ours.prof", outside / "theirs.prof"


def without_start(found: Counts) -> Counts:
    """Neither cProfile's own calls nor who called the program's module."""
    kept = {}
    for function, numbers in found.items():
        if function in OF_CPROFILE:
            # The program's own ones are those with a caller.
            calls = sum(calls for calls, _ in numbers[2].values())
            if calls:
                kept[function] = (calls, calls, numbers[2])
            continue
        kept[function] = numbers
    return kept


def test_functions_calls_and_callers_are_those_of_cprofile(workshop: Workshop) -> None:
    program = workshop.program("tests/programs/traced.py")
    ours, theirs = (without_start(found) for found in compare(workshop, program))
    assert ours == theirs
    named = {name: numbers for (_, _, name), numbers in ours.items()}
    # Known without any profiler.
    assert named["fibonacci"][:2] == (1, 177) and named["even"][:2] == (1, 4) and named["odd"][:2] == (1, 4)
    assert named["raising"][:2] == (1, 4) and named["count_down"][1] == 3 + 4 + 3 + 4
    assert named["<method 'append' of 'list' objects>"][1] == 2 and named["<built-in method builtins.len>"][1] == 1


def test_threads_are_counted_each_for_itself(workshop: Workshop) -> None:
    """cProfile counts the first thread only on 3.11 and takes all threads for one stack from 3.12 on: the truth is the program's."""
    program = workshop.program("tests/programs/traced.py")
    done = traced(workshop, "-o", f"{workshop.place.inside}/t.prof", "--python", workshop.interpreter.path, program, "threads")
    assert done.returncode == 0, done.stderr
    found = counts(workshop.place.outside / "t.prof")
    calls = [1, 1, 3, 5, 9]
    named = {name: numbers for (file, _, name), numbers in found.items() if file == "traced.py"}
    assert named["in_thread"][:2] == (5, 5)
    assert named["fibonacci"][:2] == (1 + 5, 177 + sum(calls))
    by_caller = {name: numbers for (_, _, name), numbers in named["fibonacci"][2].items()}
    assert by_caller["in_thread"] == (5, 5) and by_caller["main"] == (1, 1)


# How a generator that has not given all its values ends: each way that there is, and as nobody holds it any more.
ENDS = """def end(got, way):
    try:
        if way in (0, 3): got.close()
        if way in (1, 2, 3): got.throw(Wrong)
        if way == 2: got.close()
    except (StopIteration, Wrong):
        pass"""


def random_program(seed: int) -> str:
    """Functions that call those of higher numbers, themselves with one less, and C; generators that are left, closed or thrown into before their first
    value, between two and behind their last; exceptions raised and caught anywhere."""
    chance = random.Random(seed)
    lines = ["class Wrong(Exception): pass", ENDS]
    count = chance.randint(3, 8)
    generators = [number for number in range(count) if chance.random() < 0.5]
    for number in range(count):
        lines += [f"def f{number}(depth):", "    if depth <= 0:", "        return 0", "    found = 0"]
        own = [f"        found += (yield from f{later}(depth - {chance.randint(1, 3)})) or 0" for later in generators if later >= number]
        own = ["        yield found"] * 4 + own if number in generators else []
        for _ in range(chance.randint(1, 4)):
            later = chance.randint(number, count - 1)
            lines += ["    try:"]
            lines += [
                chance.choice(
                    [
                        f"        found += sum(g for g in range({chance.randint(0, 4)}))",
                        f"        for got in run(f{later}, depth - {chance.randint(1, 3)}): found += 1",
                        f"        run(f{later}, depth - {chance.randint(1, 3)})",
                        "        found += len(sorted([3, 1, depth], key=abs))",
                        "        [].pop()",
                        "        raise Wrong(depth)",
                        "        '-'.join(str(one) for one in range(depth)).split('-')",
                        *own,
                    ]
                )
            ]
            lines += [f"    except {chance.choice(['Wrong', 'IndexError', '(Wrong, IndexError)'])}:", "        found += 1"]
            if chance.random() < 0.3:
                lines += ["    finally:", "        found += len([depth])"]
        if number in generators:
            lines += ["    yield found"]
        lines += ["    return found"]
    lines += [
        "def run(function, depth):",
        "    got = function(depth)",
        "    if not hasattr(got, 'send'):",
        "        return [got] if got is not None else []",
        f"    if depth == {chance.randint(0, 5)}:",
        f"        end(got, {chance.randint(0, 3)})",
        f"    taken = [one for one, _ in zip(got, range({chance.randint(1, 4)}))]",
        # Beyond 3 it is left.
        f"    end(got, (depth + len(taken) + {chance.randint(0, 5)}) % 6)",
        "    return taken",
        f"for function in ({', '.join(f'f{number}' for number in range(count))}):",
        "    for depth in range(4):",
        "        try:",
        "            run(function, depth)",
        "        except (Wrong, IndexError):",
        "            pass",
    ]
    return "\n".join(lines) + "\n"


def of_files(found: Counts, begin: str | tuple[str, ...]) -> dict[tuple, tuple[int, int]]:
    """The functions of some files, and each function by each caller in them: how a module is imported depends on folders."""
    kept: dict[tuple, tuple[int, int]] = {(of,): numbers[:2] for of, numbers in found.items() if of[0].startswith(begin)}
    for of, (_, _, callers) in found.items():
        kept |= {(of, caller): numbers for caller, numbers in callers.items() if caller[0].startswith(begin)}
    return kept


@pytest.mark.measures
@pytest.mark.parametrize("is_other", [False, True], ids=["as it is", "another clock source"])
def test_times_are_those_of_the_program_s_own_clock(workshop: Workshop, is_other: bool) -> None:
    """`outer` looks at the clock around a call of `f`, and `f` within: its time lies between. By the processor's counter, and by the kernel's clock."""
    program = workshop.write(
        "clocked.py",
        "import time\n"
        "def f():\n    begin = time.monotonic()\n    while time.monotonic() < begin + 0.2: pass\n    return time.monotonic() - begin\n"
        "def outer():\n    begin = time.monotonic()\n    within = f()\n    return within, time.monotonic() - begin\n"
        "print(*outer())\n",
    )
    with another_clock_source() if is_other else contextlib.nullcontext():
        done = traced(workshop, "-o", f"{workshop.place.inside}/clocked.prof", workshop.interpreter.path, program)
    assert done.returncode == 0, done.stderr
    within, around = map(float, done.stdout.split())
    found = marshal.loads((workshop.place.outside / "clocked.prof").read_bytes())
    [cumulative] = [numbers[3] for (_, _, name), numbers in found.items() if name == "f"]
    # A clock that ticks at another pace would be a part of a thousand off at least.
    assert within * 0.999 <= cumulative <= around * 1.001, (within, cumulative, around)
    # A function's own time and that of the calls it made are all of its time. The file has rounded seconds.
    for function, (_, _, own, whole, _) in found.items():
        if function[2] in {"f", "outer"}:
            below = [callers[function][3] for *_, callers in found.values() if function in callers]
            assert len(below) == {"f": 1, "outer": 2}[function[2]] and abs(own + sum(below) - whole) < 1e-6, (function, own, below, whole)


# Fifty programs in five processes each side: starting a Python takes longer than such a program. A thousand others each time in the long form.
@pytest.mark.measures
def test_random_programs(workshop: Workshop, figure: Figure) -> None:
    first = random.SystemRandom().randrange(1 << 32) if SOAK else 0
    programs, compared = 0, 0
    for part in range(100 if SOAK else 5):
        seeds = [first + part * 10 + number for number in range(10)]
        for seed in seeds:
            workshop.write(f"random_{seed}.py", random_program(seed))
        program = workshop.write(f"all_{part}.py", "".join(f"import random_{seed}\n" for seed in seeds))
        ours, theirs = compare(workshop, program)
        own = [of_files(found, "random_") for found in (ours, theirs)]
        assert len(own[0]) > 40 and own[0] == own[1], seeds
        assert {f"<method '{way}' of 'generator' objects>" for way in ("throw", "close")} <= {of[0][2] for of in own[0]}, seeds
        programs, compared = programs + len(seeds), compared + len(own[0])
    figure("programs made at random whose functions, calls and callers are cProfile's", programs, "programs", bound="all")
    figure("functions and callers compared in them", compared, "")


def test_modules_streams_and_exit_codes(workshop: Workshop) -> None:
    place = workshop.place
    workshop.write("leaves.py", "import sys\nprint('said', sys.argv[1:])\nprint('loud', file=sys.stderr)\ndef end():\n    sys.exit(3)\nend()\n")
    done = traced(workshop, "--python", workshop.interpreter.path, "-m", "leaves", "-x", "1")
    assert (done.returncode, done.stdout) == (3, "said ['-x', '1']\n")
    assert done.stderr.startswith("loud\n") and "next: genba pstats leaves.prof, genba report leaves.prof" in done.stderr
    assert counts(place.outside / "leaves.prof")["leaves.py", 4, "end"][:2] == (1, 1)
    # A command, an exception, and an end without an end.
    ends = {"raise KeyError(1)": 1, "import os; os._exit(7)": 7, "import os, signal; os.kill(os.getpid(), signal.SIGTERM)": 128 + 15}
    for number, (text, code) in enumerate(ends.items()):
        file = f"{place.inside}/end-{number}.prof"
        done = traced(workshop, "-q", "-o", file, workshop.interpreter.path, "-c", f"def f(): pass\nf()\n{text}")
        assert done.returncode == code and (code == 1) == ("KeyError: 1" in done.stderr), done.stderr
        assert called(place.outside / f"end-{number}.prof", "f") == 1


def test_a_process_that_a_signal_from_outside_kills_leaves_no_file(workshop: Workshop) -> None:
    program = workshop.write("killed.py", "import os, subprocess\ndef f(): pass\nf()\nsubprocess.run(['sh', '-c', f'kill -9 {os.getpid()}'])\n")
    done = traced(workshop, "-o", f"{workshop.place.inside}/killed.prof", "--python", workshop.interpreter.path, program)
    assert done.returncode == 128 + signal.SIGKILL and "nothing was traced: no process wrote its counts" in done.stderr, done.stderr
    assert not list(workshop.place.outside.glob("*.prof"))


def test_a_module_of_the_standard_library_and_one_that_runs_another(workshop: Workshop) -> None:
    """As CPython's test_run_profile_as_module has it for cProfile. `runpy` runs the module that it is given."""
    python = ("--python", workshop.interpreter.path)
    for number, module in enumerate((("timeit",), ("runpy", "timeit"))):
        done = traced(workshop, "-q", "-o", f"module-{number}.prof", *python, "-m", *module, "-n", "1", "-r", "3", "pass")
        assert done.returncode == 0 and done.stdout.startswith("1 loop, best of 3: "), done.stdout + done.stderr
        found = counts(workshop.place.outside / f"module-{number}.prof")
        calls = {(file, name): numbers[1] for (file, _, name), numbers in found.items()}
        known = (("timeit.py", "main"), ("timeit.py", "repeat"), ("timeit.py", "timeit"), ("<timeit-src>", "inner"))
        assert [calls.get(function) for function in known] == [1, 1, 3, 3], module
    missing = traced(workshop, "-o", "missing.prof", *python, "-m", "no_such_module")
    assert missing.returncode == 1 and "No module named no_such_module" in missing.stderr, missing.stderr
    unnamed = traced(workshop, *python, "-m")
    assert unnamed.returncode == 2 and "a value is required for '-m <MODULE>" in unnamed.stderr, unnamed.stderr


MOVES = """
import os

def f(): pass

os.makedirs("elsewhere", exist_ok=True)
os.chdir("elsewhere")
f()
child = os.fork()
if child == 0:
    f(); f()
    os._exit(0)
os.waitpid(child, 0)
print(child, os.path.basename(os.getcwd()))
"""


def test_a_program_that_changes_its_directory_leaves_the_counts_where_genba_began(workshop: Workshop) -> None:
    """As CPython's test_output_file_when_changing_directory has it for cProfile. Also for a name that genba chooses, for a forked child, and for a recording."""
    outside = workshop.place.outside
    workshop.write("moves.py", MOVES)

    def child_of(*words: str) -> str:
        done = traced(workshop, *words, "--python", workshop.interpreter.path, "moves.py")
        assert done.returncode == 0, done.stderr
        child, folder = done.stdout.split()
        assert folder == "elsewhere"
        return child

    for words, stem in ((("-o", "named.prof"), "named"), ((), "moves")):
        child = child_of(*words)
        assert [called(outside / name, "f") for name in (f"{stem}.prof", f"{stem}.{child}.prof")] == [1, 2]
    child_of("-o", "named.genba")
    listed = genba_said("pstats", outside / "named.genba", "--stats", r"\(f\)$")
    assert [line.split()[0] for line in listed.splitlines() if line.rstrip().endswith("(f)")] == ["3"], listed
    assert list((outside / "elsewhere").iterdir()) == []


def test_children_write_their_own_files(workshop: Workshop) -> None:
    program = workshop.write(
        "parent.py",
        "import os, subprocess, sys\n"
        "def f(): pass\n"
        "f()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    f(); f()\n"
        "    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
        "other = subprocess.Popen([sys.executable, '-c', 'def f(): pass\\nfor _ in range(5): f()'])\n"
        "other.wait()\n"
        "print(child, other.pid, flush=True)\n"
        "f()\n"
        "os.execv(sys.executable, [sys.executable, '-c', 'def f(): pass\\nfor _ in range(7): f()'])\n",
    )
    done = traced(workshop, "-o", f"{workshop.place.inside}/p.prof", workshop.interpreter.path, program)
    assert done.returncode == 0, done.stderr
    child, other = done.stdout.split()
    folder = workshop.place.outside

    assert [called(folder / name, "f") for name in ("p.prof", f"p.{child}.prof", f"p.{other}.prof")] == [2, 2, 5]
    rest = set(folder.glob("p.*.prof")) - {folder / f"p.{child}.prof", folder / f"p.{other}.prof"}
    assert [called(path, "f") for path in rest] == [7]
    assert "3 other processes wrote their own counts" in done.stderr


PROCESSES = """
import os, subprocess, sys

def f():
    pass  # It is gone when the page is made.

for _ in range(3):
    f()
child = os.fork()
if child == 0:
    f()
    sys.exit(0)
os.waitpid(child, 0)
subprocess.run([sys.executable, "-c", "def f(): pass\\nfor _ in range(5): f()"])
sys.exit(4)
"""


def test_a_recording_has_the_counts_of_all_processes_and_the_sources(workshop: Workshop) -> None:
    inside, outside = workshop.place.inside, workshop.place.outside
    program = workshop.write("calls.py", PROCESSES)
    done = traced(workshop, "-o", f"{inside}/calls.genba", "--python", workshop.interpreter.path, program)
    assert done.returncode == 4, done.stderr
    assert "genba view" in done.stderr and not list(outside.glob("*.prof"))
    (outside / "calls.py").unlink()

    listed = genba_said("pstats", outside / "calls.genba", "--stats", r"\(f\)$")
    calls = [(line.split()[0], line.split()[-1]) for line in listed.splitlines() if line.rstrip().endswith("(f)")]
    assert sorted(number for number, _ in calls) == ["4", "5"], listed

    report = json.loads(genba_said("report", outside / "calls.genba", "--format", "json", "--weight", "samples", "--by", "function", "--limit", "0"))
    calls = {row["function"]: row["samples"] for row in report["rows"] if row["file"] and row["file"].endswith("calls.py")}
    assert calls["f"] == 4
    assert len(report["processes"]) == 3
    for process in report["processes"]:
        assert process["imported"].startswith("traced: counts exact, times include the tracer's (about ")
    assert report["processes"][0]["python"] == workshop.interpreter.version
    # The page has the text of the file that is gone.
    page = genba_said("html", "-o", "-", outside / "calls.genba")
    (packed,) = re.findall(r'data-numbers="gzip\+base64">([^<]+)<', page)
    assert "It is gone when the page is made." in gzip.decompress(base64.b64decode(packed)).decode()


def test_a_command_whose_file_names_its_interpreter_has_its_cost_measured(workshop: Workshop) -> None:
    """As pip writes pytest; behind a launcher the number is not told."""
    inside, outside = workshop.place.inside, workshop.place.outside
    for name, lines, expected in (
        ("named", f"#!{workshop.interpreter.path}\nlen([])\n", "the tracer's (about "),
        ("launched", f"#!/bin/sh\nexec {workshop.interpreter.path} -c 'len([])'\n", "the tracer's; "),
    ):
        command = workshop.write(name, lines, 0o755)
        done = traced(workshop, "-o", f"{inside}/{name}.genba", command)
        assert done.returncode == 0, done.stderr
        (process,) = json.loads(genba_said("report", outside / f"{name}.genba", "--format", "json"))["processes"]
        assert expected in process["imported"], process


def test_two_recordings_of_counts_differ_exactly(workshop: Workshop) -> None:
    inside, outside = workshop.place.inside, workshop.place.outside
    for name, calls in (("a", 3), ("b", 5)):
        program = workshop.write("twice.py", f"def f(): pass\nfor _ in range({calls}): f()\n")
        done = traced(workshop, "-o", f"{inside}/{name}.genba", "--quiet", "--python", workshop.interpreter.path, program)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    said = json.loads(genba_said("diff", outside / "a.genba", outside / "b.genba", "--format", "json"))
    (row,) = [row for row in said["rows"] if row["function"].endswith("(f)")]
    assert row["calls"] == [3, 5]


def test_a_full_disk_takes_no_counts_and_no_exit_code(workshop: Workshop) -> None:
    """Of the two writes of a recording the second, with the sources, comes to a file-size limit: what was counted is there."""
    text = "".join(f"# {random.Random(line).randbytes(40).hex()}\n" for line in range(1_500))
    program = workshop.write("large.py", "def f(): pass\nfor _ in range(3): f()\n" + text + "raise SystemExit(4)\n")
    # So that genba's library lies in its folder before files may not be as large as it is.
    assert traced(workshop, "-o", "first.prof", "--python", workshop.interpreter.path, workshop.write("first.py", "")).returncode == 0
    command = f"ulimit -f 64; exec {workshop.place.genba_inside} trace -o limited.genba --python {workshop.interpreter.path} {program}"
    done = subprocess.run(
        workshop.place.command(["sh", "-c", command]),
        cwd=workshop.place.outside, env=workshop.place.environment({}), capture_output=True, text=True, timeout=RUN_SECONDS_MAX,
    )
    assert done.returncode == 4, done.stderr
    assert "cannot add C names and sources to " in done.stderr and "what was recorded is in it, and intact" in done.stderr
    assert any(line.split()[0] == "3" for line in genba_said("pstats", workshop.place.outside / "limited.genba", "--stats", r"\(f\)$").splitlines() if line.endswith("(f)"))


def test_samples_tell_no_calls(workshop: Workshop) -> None:
    sampled = workshop.run(workshop.write("one.py", "pass\n"))
    refused = genba("pstats", sampled.recording, "--stats")
    assert refused.returncode == 1 and "a recording of samples, which tell no calls" in refused.stderr


def test_the_table_is_cprofile_s(workshop: Workshop) -> None:
    workshop.write("sorted.py", "def f(n): return n and f(n - 1)\nf(4)\nprint('out')\n")
    done = traced(workshop, "-q", "-s", "calls", "--python", workshop.interpreter.path, f"{workshop.place.inside}/sorted.py")
    lines = done.stdout.splitlines()
    assert lines[0] == "out" and re.fullmatch(r" {9}7 function calls \(3 primitive calls\) in \d+\.\d{3} seconds", lines[1]), lines[:2]
    assert lines[3] == "   Ordered by: call count" and lines[5].split()[:2] == ["ncalls", "tottime"]
    assert lines[6].startswith("      5/1 ") and lines[6].endswith(" sorted.py:1(f)")
    # Another Python reads the file, and so does genba.
    read = plainly(workshop, "-c", "import pstats; pstats.Stats('sorted.prof').strip_dirs().sort_stats('calls').print_stats()")
    assert read.stdout.split("\n\n", 1)[1].rstrip() == "\n".join(lines[1:]).rstrip()


def test_any_name_but_one_in_prof_is_a_recording(workshop: Workshop) -> None:
    program = workshop.write("named.py", "def f(): pass\nf()\n")
    for name in ("counts", "counts.pstats"):
        done = traced(workshop, "-o", f"{workshop.place.inside}/{name}", "--python", workshop.interpreter.path, program)
        assert done.returncode == 0 and f"next: genba pstats {workshop.place.inside}/{name}, genba view " in done.stderr, done.stderr
        assert "(f)" in genba_said("pstats", workshop.place.outside / name, "--sort", "name", "--stats", "9")


def test_what_cannot_be_done_is_refused(workshop: Workshop) -> None:
    workshop.write("app.py", "")
    (workshop.place.outside / "mine.prof").write_text("not a .prof file")

    def refused(*words: str) -> tuple[int, str]:
        done = traced(workshop, *words)
        return done.returncode, done.stderr

    code, words = refused("--python", workshop.interpreter.path, "-s", "nonsense", "app.py")
    assert code == 2 and "`nonsense` is not a key to sort by" in words
    code, words = refused("--python", workshop.interpreter.path, "-o", "mine.prof", "--force", "app.py")
    assert code == 2 and "mine.prof: it exists and is not a .prof file" in words
    assert (workshop.place.outside / "mine.prof").read_text() == "not a .prof file"
    code, words = refused("--python", workshop.interpreter.path, "no-such.py")
    assert code == 2 and "no-such.py" in words
    code, words = refused("-o", "true.prof", "true")
    assert code == 1 and "nothing was traced" in words and not (workshop.place.outside / "true.prof").exists()
