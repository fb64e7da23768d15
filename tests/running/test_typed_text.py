"""The text of a notebook's cell is in no file: `genba dump` and `genba attach` read it where IPython keeps it."""

from looked_at import LOOKS_MAX
from looked_at import started as looked_at
from recording import Workshop
from running_program import started

# As IPython's compiler does for each cell: an entry of `linecache` without a time. An entry with a time was read from a file.
CELLS = """\
import linecache, os, select, sys, threading

def cell(text, name, written=None):
    path = f"/nowhere/ipykernel_7/{name}.py"
    linecache.cache[path] = (len(text), written, text.splitlines(True), path)
    scope = {"os": os, "reads": reads}
    exec(compile(text, path, "exec"), scope)
    return scope["function"]

reads, _ = os.pipe()
"""
WAITS = """\
text = "def function():\\n    return os.read(reads, 1)\\n"
# Longer than anybody types.
endless = text + ("#" * 9_000 + "\\n") * 200
for name, text, written in (("cell", text, None), ("file", text, 1.0), ("endless", endless, None)):
    threading.Thread(target=cell(text, name, written), name=name, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""
WORKS = """\
works = cell("def function():\\n    return sum(range(10_000))\\n", "cell")
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    works()
print("{}")
"""


def test_dump_shows_the_text_of_a_cell_and_none_that_may_be_another(workshop: Workshop) -> None:
    place = workshop.place
    with looked_at(place.command([place.interpreter.path, "-c", CELLS + WAITS]), cwd=place.outside, env=place.environment({})) as program:
        for _ in range(LOOKS_MAX):
            threads = program.threads()
            found = [threads[name] for name in ("cell", "file", "endless") if name in threads and threads[name]["certainty"] == "slept"]
            innermost = [thread["frames"][0] for thread in found if thread["frames"] and thread["frames"][0]["name"] == "function"]
            if len(innermost) == 3:
                break
        else:
            raise AssertionError(threads)
    assert [(frame["line"], frame["expression"]) for frame in innermost] == [(2, "os.read(reads, 1)"), (2, None), (2, None)], innermost


def test_attach_stores_the_text_of_a_cell(workshop: Workshop) -> None:
    with started(workshop, workshop.write("cells.py", CELLS + WORKS)) as program:
        run = program.recorded("cells.genba", "--duration", "700ms")
        program.end()
    expressions = [row["expression"] for row in run.report_json()["rows"]]
    assert "sum(range(10_000))" in expressions, expressions
