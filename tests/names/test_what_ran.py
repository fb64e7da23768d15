"""Source text is shown when it is the text that ran, and else a reason: a file edited meanwhile, a name that generated code carries."""

from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from recording import Run, Workshop

CHANGED = "the file was changed after the program began"
NOT_WHAT_RAN = "the file is not the source of what ran"

WORK = """
import json, os, sys, time
DATA = [{"name": "x" * 50, "numbers": list(range(20))}] * 20
def slow(milliseconds):
    until = time.process_time() + milliseconds / 1000
    while time.process_time() < until:
        json.dumps(DATA, indent=1)
"""
EDITED = (
    WORK
    + """
text = open(__file__).read()
slow(300)
with open(__file__, "w") as file:
    file.write("# one line more\\n" * 3 + text)
slow(300)
"""
)
# As a template engine does: the code has the template's path, and another text.
GENERATED = (
    WORK
    + """
path = os.path.abspath("list.html")
with open(path, "w") as file:
    file.write("<ul>\\n{% for item in items %}\\n<li>{{ item }}</li>\\n{% endfor %}\\n</ul>\\n<p>the root of it</p>\\n" * 3)
os.utime(path, (1, 1))
exec(compile("import sys\\ndef root(slow):\\n    slow(300)\\n", path, "exec"))
root(slow)
"""
)
# What begins at a decorator, in the middle of a line, or in another function; and what was forked.
MANY_WAYS = (
    WORK
    + """
import functools
@functools.lru_cache(
    maxsize=None,
)
@functools.wraps(slow)
def decorated(): slow(100)
class Holder:
    async def held(self): slow(100)
    class Inner: slow(100)
    def of_each(self): return [slow(50) for _ in range(2)] + list(slow(50) for _ in range(2))
    __private = lambda self: slow(100)
try:
    Holder().held().send(None)
except StopIteration:
    pass
decorated()
Holder().of_each()
Holder()._Holder__private()
if os.fork() == 0:
    slow(100)
    os._exit(0)
os.wait()
"""
)


def lacks(run: Run) -> dict[str, str | None]:
    return {source["path"].rpartition("/")[2]: source["lack"] for source in run.profile()["sources"]}


def test_a_file_that_is_edited_while_it_runs(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("edited.py", EDITED))
    assert run.exit_code == 0, run.stderr
    assert lacks(run)["edited.py"] == "written-later"
    rows = [row for row in run.report_json()["rows"] if (row["file"] or "").endswith("edited.py")]
    assert rows and all(row["expression"] is None for row in rows), rows
    report = run.report()
    assert f"; {CHANGED})" in report, report
    assert "edited.py was changed after the program began: its text is not shown" in run.stderr, run.stderr
    assert f"; {CHANGED} |" in run.report("--format", "markdown")


def test_code_that_was_made_of_something_else(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("generated.py", GENERATED))
    assert run.exit_code == 0, run.stderr
    assert (lacks(run)["list.html"], lacks(run)["generated.py"]) == ("not-what-ran", None)
    rows = {row["line"]: row for row in run.report_json("--sort", "total", "--limit", "0")["rows"] if (row["file"] or "").endswith("list.html")}
    assert rows[3]["function"] == "root" and rows[3]["expression"] is None, rows
    assert NOT_WHAT_RAN in run.report("--sort", "total", "--limit", "0")


WAYS = {"decorated", "Holder.held", "Holder.Inner", "Holder.<lambda>", "slow"}
# Each runs for 100 ms: a sampler that misses one misses so many ticks, half of them where the first and the last fall as they like.
LATE_TICKS_MIN = 50
RUNS_MAX = 5


def test_every_way_in_which_a_function_begins(workshop: Workshop) -> None:
    """A run in which the sampler got no CPU for as long as one of them ran says so itself, and is repeated."""
    for _ in range(RUNS_MAX):
        run = workshop.run(workshop.write("ways.py", MANY_WAYS), flags=("--rate", "1000"))
        assert run.exit_code == 0, run.stderr
        assert lacks(run)["ways.py"] is None
        functions = {row["function"] for row in run.report_json("--by", "function", "--sort", "total", "--limit", "0")["rows"]}
        if WAYS <= functions or run.profile()["accounting"]["dropped"].get("late", 0) < LATE_TICKS_MIN:
            break
    assert WAYS <= functions, (functions, run.profile().facts())


def test_a_module_that_was_edited_before_the_recording_began(inside: Inside) -> None:
    """A program that records itself read its files before it did."""
    inside.workshop.write("helper.py", WORK)
    inside.said(
        """
sys.path.insert(0, ".")
import helper
text = open("helper.py").read()
with open("helper.py", "w") as file:
    file.write("# one line more\\n" * 3 + text)
with genba.record("app.genba"):
    helper.slow(300)
    copies(20)
"""
    )
    found = lacks(inside.recording("app.genba"))
    assert (found["helper.py"], found["program.py"]) == ("written-later", None)


def test_a_text_that_only_linecache_has(inside: Inside) -> None:
    """As notebooks do: the name of a file that there is none of. Another one holds what can be in no program."""
    inside.said(
        """
import linecache
text = "def cell(copies):\\n    return copies(60)\\n"
linecache.cache["/nowhere/cell_0.py"] = 4, None, ["a='\\0'\\n"], "/nowhere/cell_0.py"
linecache.cache["/nowhere/cell_1.py"] = len(text), None, text.splitlines(keepends=True), "/nowhere/cell_1.py"
exec(compile(text, "/nowhere/cell_1.py", "exec"))
with genba.record("app.genba"):
    cell(copies)
"""
    )
    rows = inside.recording("app.genba").report_json("--sort", "total", "--limit", "0")["rows"]
    assert "copies(60)" in [row["expression"] for row in rows if (row["file"] or "").endswith("cell_1.py")], rows
