"""A program that watches itself under `genba trace`: its profilers, tracers, tools and debuggers see what they see without genba.

Owns: programs that print all that their own watching told them.
"""

import pytest

from recording import REPOSITORY, Workshop
from test_trace import counts, plainly, traced

BEGIN = "def inner(): pass\ndef work():\n    for _ in range(3): inner()\n    len([])\n"
SEEN = "import sys, threading\nseen = []\ndef see(frame, event, argument): seen.append((frame.f_code.co_name, event, getattr(argument, '__name__', None)))\n"
OWN = {
    "cProfile": (
        "import cProfile\n"
        "profile = cProfile.Profile()\n"
        "profile.runcall(work)\n"
        "profile.create_stats()\n"
        "print(sorted((name, numbers[1]) for (_, _, name), numbers in profile.stats.items() if 'disable' not in name))\n"
    ),
    # The standard library's profiler in Python, which ends with an error when it sees an end of what it has not seen begin.
    "profile": (
        "import profile\n"
        "own = profile.Profile()\n"
        "own.runcall(work)\n"
        "own.create_stats()\n"
        "print(sorted((name, numbers[1]) for (_, _, name), numbers in own.stats.items() if not name.startswith('<function')))\n"
    ),
    "setprofile": SEEN + "sys.setprofile(see)\nwork()\nsys.setprofile(None)\nprint(seen)\n",
    # The second call that sets one is seen by both, one the beginning and the other the end.
    "setprofile twice": (
        SEEN + "def also(*event): see(*event)\nsys.setprofile(see)\nsys.setprofile(also)\nprint(sys.getprofile() is also)\n"
        "work()\nsys.setprofile(None)\nprint(sys.getprofile(), seen)\n"
    ),
    "setprofile by C": SEEN + "any(map(sys.setprofile, [see]))\nwork()\nsys.setprofile(None)\nprint([one for one in seen if one[0] == 'work'])\n",
    "setprofile refused": (
        SEEN + "def hook(event, arguments):\n    if event == 'sys.setprofile': raise RuntimeError('refused')\n"
        "sys.addaudithook(hook)\n"
        "for wrong in ((), (1, 2), (see,)):\n"
        "    try: sys.setprofile(*wrong)\n"
        "    except (TypeError, RuntimeError) as error: print(error, sys.getprofile())\n"
        "work()\nprint(seen)\n"
    ),
    "setprofile beside settrace": (
        SEEN + "sys.settrace(lambda *event: None)\nsys.setprofile(see)\nwork()\nsys.setprofile(None)\nsys.settrace(None)\nprint(seen)\n"
    ),
    "setprofile of a thread": (
        SEEN + "threading.setprofile(see)\nthread = threading.Thread(target=work)\nthread.start()\nthread.join()\nthreading.setprofile(None)\nprint(seen)\n"
    ),
    "settrace": (
        SEEN + "def each(*event):\n    see(*event)\n    return each\n"
        "sys.settrace(each)\nwork()\nsys.settrace(None)\nprint(seen)\n"
    ),
    # Whoever tells it of a profile function in the new thread never sees that thread begin.
    "setprofile audited": (
        "import sys, threading\nseen = []\ndef hook(event, arguments):\n    if 'setprofile' in event:\n        seen.append(event)\n        raise RuntimeError('refused')\n"
        "sys.addaudithook(hook)\nthread = threading.Thread(target=work)\nthread.start()\nthread.join()\nprint(seen)\n"
    ),
    "what sys says": "import sys\nprint(sys.setprofile, sys.setprofile.__doc__, sys.getprofile(), {sys.setprofile: work.__name__}[sys.setprofile])\nwork()\n",
    "monitoring": (
        "import sys\n"
        "seen = []\n"
        "tool = sys.monitoring.PROFILER_ID\n"
        "sys.monitoring.use_tool_id(tool, 'mine')\n"
        "sys.monitoring.register_callback(tool, sys.monitoring.events.PY_START, lambda code, offset: seen.append(code.co_name))\n"
        "sys.monitoring.set_events(tool, sys.monitoring.events.PY_START)\n"
        "work()\n"
        "sys.monitoring.free_tool_id(tool)\n"
        "print(seen)\n"
    ),
    # Whichever number genba has, it takes another one.
    "monitoring by every number": (
        "import sys\n"
        "seen = []\n"
        "for tool in range(5, -1, -1):\n"
        "    sys.monitoring.use_tool_id(tool, 'mine')\n"
        "    sys.monitoring.register_callback(tool, sys.monitoring.events.PY_START, lambda code, offset, tool=tool: seen.append((tool, code.co_name)))\n"
        "    sys.monitoring.set_events(tool, sys.monitoring.events.PY_START)\n"
        "    work()\n"
        "    print(sys.monitoring.get_tool(tool), sys.monitoring.get_events(tool))\n"
        # Before 3.14 a number that is given back keeps its events.
        "    sys.monitoring.set_events(tool, 0)\n"
        "    sys.monitoring.free_tool_id(tool)\n"
        "print(seen)\n"
    ),
}
# Where there is one place for a profile function, what the program profiles itself is not counted.
HAS_THE_PLACE = {"cProfile", "profile", "setprofile", "setprofile twice", "setprofile by C", "setprofile beside settrace", "setprofile of a thread"}
TIMES = {"monitoring by every number": 6}
TOLD = "CPython 3.11 has room for one profile function"


@pytest.mark.parametrize("way", OWN)
def test_a_program_that_profiles_itself_keeps_its_profile(workshop: Workshop, way: str) -> None:
    is_old = workshop.interpreter.minor == "3.11"
    if way.startswith("monitoring") and is_old:
        pytest.skip("3.11 has no sys.monitoring")
    program = workshop.write("own.py", f"{BEGIN}{OWN[way]}for _ in range(10): inner()\n")
    plain = plainly(workshop, program)
    done = traced(workshop, "-o", f"{workshop.place.inside}/own.prof", workshop.interpreter.path, program)
    assert (done.returncode, done.stdout) == (0, plain.stdout) and plain.returncode == 0 and plain.stdout, done.stderr
    expected = 10 if is_old and way in HAS_THE_PLACE else 10 + 3 * TIMES.get(way, 1)
    assert counts(workshop.place.outside / "own.prof")["own.py", 1, "inner"][1] == expected
    # What is not counted is told, unless the thread has ended before the main thread runs Python code again.
    if way != "setprofile of a thread":
        assert (TOLD in done.stderr) == (is_old and way in HAS_THE_PLACE), done.stderr


def test_a_forked_child_tells_what_it_does_not_count(workshop: Workshop) -> None:
    """The child profiles itself from its first line on: it has counted nothing, and writes no file."""
    text = (
        "import os, sys\nif os.fork() == 0:\n    sys.setprofile(lambda *event: None)\n    work()\n    sys.exit(0)\nos.wait()\nwork()\n"
    )
    done = traced(workshop, "-o", f"{workshop.place.inside}/fork.prof", workshop.interpreter.path, workshop.write("fork.py", BEGIN + text))
    assert done.returncode == 0, done.stderr
    assert (TOLD in done.stderr) == (workshop.interpreter.minor == "3.11"), done.stderr
    assert counts(workshop.place.outside / "fork.prof")["fork.py", 1, "inner"][1] == 3


def test_no_number_is_free(workshop: Workshop) -> None:
    """The last of six tools cannot have what genba has."""
    if workshop.interpreter.minor == "3.11":
        pytest.skip("3.11 has no sys.monitoring")
    text = "import sys\nfor tool in (4, 3, 5, 2, 1, 0):\n    try: sys.monitoring.use_tool_id(tool, 'mine')\n    except ValueError as error: print(error)\nwork()\n"
    done = traced(workshop, "-o", f"{workshop.place.inside}/all.prof", workshop.interpreter.path, workshop.write("all.py", BEGIN + text))
    assert (done.returncode, done.stdout) == (0, "tool 0 is already in use\n"), done.stderr
    assert counts(workshop.place.outside / "all.prof")["all.py", 1, "inner"][1] == 3


def test_all_numbers_are_taken_before_the_program_begins(workshop: Workshop) -> None:
    """By a module that the interpreter imports at its start: nothing is counted, genba says why, and the program goes its way."""
    if workshop.interpreter.minor == "3.11":
        pytest.skip("3.11 has no sys.monitoring")
    workshop.write("sitecustomize.py", "import sys\nfor tool in range(6): sys.monitoring.use_tool_id(tool, 'mine')\n")
    program = workshop.write("taken.py", f"{BEGIN}import sys\nwork()\nprint([sys.monitoring.get_tool(tool) for tool in range(6)])\nsys.exit(3)\n")
    environment = {"PYTHONPATH": workshop.place.inside}
    plain = plainly(workshop, program, environment=environment)
    done = traced(workshop, "-o", f"{workshop.place.inside}/taken.prof", workshop.interpreter.path, program, environment=environment)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout) == (3, f"{['mine'] * 6}\n"), done.stderr
    assert "nothing was traced" in done.stderr and "other tools have taken all six numbers of sys.monitoring" in done.stderr
    assert "hint: genba run samples instead of counting" in done.stderr
    assert not (workshop.place.outside / "taken.prof").exists()


PDB = (
    "import io, pdb, sys\n"
    "commands = io.StringIO('break inner\\ncontinue\\nwhere\\ncontinue\\nclear 1\\ny\\ncontinue\\n')\n"
    "pdb.Pdb(stdin=commands, stdout=sys.stdout, nosigint=True, readrc=False{}).runcall(work)\n"
)
WATCHED = {
    "bdb": (
        "import bdb\n"
        "class Lines(bdb.Bdb):\n"
        "    def user_line(self, frame): print(frame.f_code.co_name, frame.f_lineno); self.set_step()\n"
        "Lines().runcall(work)\n"
    ),
    "pdb": PDB.format(""),
    "pdb by monitoring": PDB.format(", backend='monitoring'"),
    "trace": "import trace\nfound = trace.Trace(count=1, trace=0)\nfound.runfunc(work)\nprint(sorted(line for (file, line) in found.results().counts if file == __file__))\n",
}


@pytest.mark.parametrize("way", WATCHED)
def test_a_program_under_its_own_debugger(workshop: Workshop, way: str) -> None:
    if way == "pdb by monitoring" and workshop.interpreter.minor_number < 14:
        pytest.skip("pdb has it from CPython 3.14 on")
    program = workshop.write("watched.py", f"{BEGIN}{WATCHED[way]}")
    plain = plainly(workshop, program)
    done = traced(workshop, "-o", f"{workshop.place.inside}/watched.prof", workshop.interpreter.path, program)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout) == (0, plain.stdout) and "1" in plain.stdout, done.stderr
    assert counts(workshop.place.outside / "watched.prof")["watched.py", 1, "inner"][1] == 3


# And of which type its trace function is.
CORES = {"pytrace": "method", "ctrace": "CTracer", "sysmon": "NoneType"}


@pytest.mark.parametrize("core", CORES)
def test_coverage_of_a_program(workshop: Workshop, core: str) -> None:
    """By sys.settrace, in Python or in C, or by sys.monitoring."""
    readers = REPOSITORY / "build/peers/readers"
    minor = workshop.interpreter.minor_number
    if workshop.interpreter.root is not None:
        pytest.skip("build/peers/readers is not in the Debian sid folder")
    if not (readers / "coverage").exists():
        pytest.skip("coverage is not in build/peers/readers: make/prepare.sh readers")
    if core == "sysmon" and minor < 12:
        pytest.skip("3.11 has no sys.monitoring")
    if core == "ctrace" and not any((readers / "coverage").glob(f"tracer.cpython-3{minor}-*.so")):
        pytest.skip(f"build/peers/readers has no coverage in C for CPython 3.{minor}: it is the tools' CPython's")
    program = workshop.write("covered.py", f"{BEGIN}work(); import sys; print(type(sys.gettrace()).__name__)\nif inner():\n    print('never')\n")
    words = ("-m", "coverage", "run", "--data-file", f"{workshop.place.inside}/covered", program)
    environment = {"PYTHONPATH": str(readers), "COVERAGE_CORE": core}
    done = traced(workshop, "-q", "-o", f"{workshop.place.inside}/c.prof", "--python", workshop.interpreter.path, *words, environment=environment)
    assert (done.returncode, done.stdout) == (0, f"{CORES[core]}\n"), done.stderr
    assert counts(workshop.place.outside / "c.prof")["covered.py", 1, "inner"][1] == 4
    said = plainly(
        workshop, "-c",
        f"import sys; sys.path.insert(0, {str(readers)!r}); import coverage; data = coverage.CoverageData({workshop.place.inside + '/covered'!r});"
        "data.read(); print([sorted(data.lines(file)) for file in data.measured_files()])",
    )
    assert said.stdout == "[[1, 2, 3, 4, 5, 6]]\n", said.stderr
