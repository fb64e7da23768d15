"""`genba.trace` around a piece of a program: what cProfile counts between `enable` and `disable`, and a program that is as it was afterwards.

Owns: what is left out of the comparison, in words: the `disable` by which cProfile ends.
"""

import json

from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from test_trace import called, traced

PROGRAM = """
import cProfile, json, os, pstats, sys, threading

def square(n): return n * n
def down(n): return n if n == 0 else down(n - 1)
def numbers(n):
    for i in range(n): yield square(i)
def raises():
    try: raise KeyError(len("abc"))
    except KeyError: return sorted({3, 1, 2})
def work(n=20):
    total = sum(numbers(n)) + down(5)
    for _ in range(n): raises()
    return total + max(map(square, [1, 2, 3]))
def tools(): return [sys.monitoring.get_tool(number) for number in range(6)] if hasattr(sys, "monitoring") else sys.getprofile()
def counted(stats):
    found = {}
    for (file, line, name), (primitive, calls, _, _, callers) in stats.stats.items():
        found[f"{os.path.basename(file)}:{line} {name}"] = [primitive, calls, {f"{os.path.basename(of[0])}:{of[1]} {of[2]}": list(numbers[:2]) for of, numbers in callers.items()}]
    return found
"""


def test_a_block_counts_as_cprofile_does(inside: Inside) -> None:
    lines = inside.said(
        PROGRAM
        + """
theirs = cProfile.Profile()
theirs.enable()
expected = work()
theirs.disable()
theirs.create_stats()
before = tools()
for name in ("first.prof", "second.prof"):
    with genba.trace(name) as traced:
        assert work() == expected
    assert tools() == before
    print(json.dumps([counted(theirs), counted(traced.stats())]))
work()
assert counted(pstats.Stats("second.prof")) == counted(traced.stats())
"""
    )
    assert len(lines) == 2
    for line in lines:
        theirs, ours = json.loads(line)
        ends = "~:0 <method 'disable' of '_lsprof.Profiler' objects>"
        theirs.pop(ends)
        assert ours == theirs


def test_the_program_s_own_profiler_in_a_block(inside: Inside) -> None:
    """The module `profile` ends with an error when its first event is the end of `sys.setprofile`; genba.trace leaves that function as it was."""
    lines = inside.said(
        PROGRAM
        + """
import warnings
warnings.simplefilter("ignore")  # 3.15 says that it will go.
import profile
before = hash(sys.setprofile), sys.setprofile.__doc__, tools()
with genba.trace("own.prof") as traced:
    own = profile.Profile()
    own.runcall(down, 5)
    if hasattr(sys, "monitoring"):
        for tool in (4, 3): sys.monitoring.use_tool_id(tool, "mine")
    down(2)
own.create_stats()
print([numbers[:2] for (_, _, name), numbers in own.stats.items() if name == "down"])
if hasattr(sys, "monitoring"):
    for tool in (4, 3): sys.monitoring.free_tool_id(tool)
assert before == (hash(sys.setprofile), sys.setprofile.__doc__, tools())
own.runcall(down, 5)
print(sum(numbers[1] for name, numbers in traced.stats().stats.items() if name[2] == "down"))
"""
    )
    has_one_place = inside.workshop.interpreter.minor == "3.11"
    assert lines == ["[(1, 6)]", "3" if has_one_place else "9"]


def test_threads_count_and_forked_children_do_not(inside: Inside) -> None:
    lines = inside.said(
        PROGRAM
        + """
with genba.trace("x.prof") as traced:
    # Before the threads: CPython warns of a fork beside some.
    child = os.fork()
    if child == 0:
        down(100)
        with genba.trace("child.prof") as own: down(7)
        os._exit(0 if own.stats().total_calls == 8 else 1)
    assert os.waitpid(child, 0)[1] == 0
    threads = [threading.Thread(target=down, args=(3,)) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print(json.dumps({name[2]: numbers[:2] for name, numbers in traced.stats().stats.items() if name[2] == "down"}))
print(sorted(name for name in os.listdir(".") if name.endswith(".prof")))
"""
    )
    assert json.loads(lines[0]) == {"down": [4, 16]}
    assert lines[1] == "['child.prof', 'x.prof']"


def test_threads_that_run_already_count_between_the_two_ends(inside: Inside) -> None:
    lines = inside.said(
        PROGRAM
        + """
runs, begun, counted_all, over = (threading.Event() for _ in range(4))
def long_lived():
    down(1)
    runs.set()
    begun.wait()
    down(3)
    counted_all.set()
    over.wait()
    down(9)
thread = threading.Thread(target=long_lived)
thread.start()
runs.wait()
with genba.trace("x.prof") as traced:
    begun.set()
    counted_all.wait()
over.set()
thread.join()
print(json.dumps({name[2]: numbers[:2] for name, numbers in traced.stats().stats.items() if name[2] == "down"}))
"""
    )
    assert [json.loads(line) for line in lines] == [{"down": [1, 4]}]


def test_a_block_that_is_open_where_the_program_does_not_end_by_itself_leaves_an_empty_file(inside: Inside) -> None:
    lines = inside.said(
        PROGRAM
        + """
ends = {
    "exit": lambda: os._exit(0),
    "exec": lambda: os.execv(sys.executable, [sys.executable, "-c", "pass"]),
    "kill": lambda: os.kill(os.getpid(), 9),
}
for name, end in ends.items():
    child = os.fork()
    if child == 0:
        with genba.trace(f"{name}.prof"):
            down(3)
            end()
    assert os.waitpid(child, 0)[1] == (9 if name == "kill" else 0)
    print(name, os.path.getsize(f"{name}.prof"))
"""
    )
    assert lines == ["exit 0", "exec 0", "kill 0"]


def test_a_block_inside_of_genba_trace_is_a_part_of_its_counts(inside: Inside) -> None:
    """And so is what is decorated: neither has a file of its own, and the end of neither ends the run's counting."""
    workshop = inside.workshop
    text = """
import genba, os
def one_call(): pass
one_call()
with genba.trace("block.prof") as traced: one_call(); one_call()
@genba.trace("deco.prof")
def decorated_call(): one_call()
decorated_call()
one_call()
print(os.path.basename(traced.path), sorted(name for name in os.listdir(".") if name in {"block.prof", "deco.prof"}))
"""
    program, out = workshop.write("blocks.py", text), f"{workshop.place.inside}/run.prof"
    done = traced(workshop, "-q", "-o", out, "--python", workshop.interpreter.path, program, environment=inside.environment)
    assert (done.returncode, done.stdout) == (0, "run.prof []\n"), done.stderr
    assert [called(workshop.place.outside / "run.prof", name) for name in ("one_call", "decorated_call")] == [5, 1]


def test_as_a_decorator(inside: Inside) -> None:
    lines = inside.said(
        PROGRAM
        + """
@genba.trace("deco.prof")
def again(n): return n if n == 0 else again(n - 1)
assert (again(3), again(2)) == (0, 0)
print(sorted(name for name in os.listdir(".") if name.endswith(".prof")))
for name in ("deco.prof", "deco-2.prof"):
    stats = pstats.Stats(name).stats
    print(json.dumps({key[2]: [*value[:2], [caller[2] for caller in value[4]]] for key, value in stats.items()}))
try: genba.trace("x.prof")(numbers)
except TypeError as error: print(error)
"""
    )
    assert lines[0] == "['deco-2.prof', 'deco.prof']"
    assert [json.loads(line) for line in lines[1:3]] == [{"again": [1, 4, ["again"]]}, {"again": [1, 3, ["again"]]}]
    assert "use it as a block" in lines[3]


def test_what_is_refused_leaves_nothing_behind(inside: Inside) -> None:
    lines = inside.said(
        PROGRAM
        + """
def refused(kind, call):
    try: call()
    except kind as error:
        print(str(error).splitlines()[0].replace(os.getcwd() + "/", ""))
        assert not isinstance(error, genba.GenbaError) or error.hint
    else: print("not refused")
def block(path, **options):
    with genba.trace(path, **options): pass
open("mine.prof", "w").write("mine")
refused(ValueError, lambda: genba.trace("x.txt"))
refused(FileExistsError, lambda: block("mine.prof"))
refused(FileExistsError, lambda: block("mine.prof", force=True))
with genba.trace("outer.prof") as outer:
    refused(genba.CannotRecord, lambda: block("inner.prof"))
    refused(genba.CannotRecord, lambda: genba.start("x.genba"))
with genba.record("y.genba"):
    refused(genba.CannotRecord, lambda: block("inner.prof"))
block("outer.prof", force=True)
assert outer.stats().total_calls == 0 and open("mine.prof").read() == "mine"
def failing():
    with genba.trace("failing.prof"): raise KeyError("own")
refused(KeyError, failing)
print(sorted(name for name in os.listdir(".") if name.endswith((".prof", "x.genba"))))
"""
    )
    assert lines == [
        "'x.txt' does not end in .prof",
        "mine.prof exists; force=True replaces it",
        "mine.prof exists, and is no .prof file",
        "inner.prof was not begun: the calls of this process are counted already, into outer.prof",
        "x.genba was not begun: the calls of this process are being counted: samples and exact counts exclude each other",
        "inner.prof was not begun: this process is being recorded: samples and exact counts exclude each other",
        "'own'",
        "['failing.prof', 'mine.prof', 'outer.prof']",
    ]


def test_a_subinterpreter_cannot_be_counted(inside: Inside) -> None:
    """With a GIL of its own it would change the counts at the same time."""
    lines = inside.said(
        PROGRAM
        + """
try: import _interpreters as interpreters
except ImportError: import _xxsubinterpreters as interpreters
TEXT = f"import sys; sys.path = {sys.path!r}" + '''
try:
    import genba
    with genba.trace("sub.prof"): pass
    said = "counted"
except Exception as error: said = f"{type(error).__name__}: {error}"
open("said", "w").write(said)
'''
def sub():
    made = interpreters.create()
    interpreters.run_string(made, TEXT)
    interpreters.destroy(made)
    said = open("said").read()
    # Before 3.13 such an interpreter cannot even load the library.
    assert "another one runs here" in said or (sys.version_info < (3, 13) and said != "counted"), said
import warnings; warnings.simplefilter("ignore")
sub()
with genba.trace("x.prof") as traced:
    sub()
    down(3)
print(json.dumps({name[2]: numbers[:2] for name, numbers in traced.stats().stats.items() if name[2] == "down"}), os.path.exists("sub.prof"))
"""
    )
    assert lines == ['{"down": [1, 4]} False']


def test_a_failing_file_is_a_warning_and_the_next_block_counts(inside: Inside) -> None:
    lines = inside.said(
        PROGRAM
        + """
import resource, signal, warnings
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
warnings.simplefilter("error")
@genba.trace("deco.prof")
def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    raise KeyError("own")
try: limited()
except KeyError as error: print(error, error.__notes__)
try:
    with genba.trace("block.prof"): down(1)
except RuntimeWarning as warning: print(warning)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
with genba.trace("next.prof") as traced: down(1)
print(traced.stats().total_calls)
"""
    )
    limit = "genba: the file could not be written whole: no room, or a limit"
    assert lines == [f"'own' ['{limit}']", limit, "2"]


def test_what_the_blocks_of_a_long_life_held_is_given_back(inside: Inside) -> None:
    inside.said(
        PROGRAM
        + """
import gc, weakref
def made():
    space = {}
    exec(compile("def one(): pass", "made.py", "exec"), space)
    return space["one"]
gone = []
for _ in range(5):
    one = made()
    with genba.trace("x.prof", force=True): one()
    gone.append(weakref.ref(one.__code__))
    del one
gc.collect()
assert [ref() for ref in gone] == [None] * 5
"""
    )
