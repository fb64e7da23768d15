"""`import genba` in processes that others host: a test of the program's own, a notebook."""

import pytest

from compiled import package_folder
from inside import WORK, Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from recording import REPOSITORY


def test_under_pytest(inside: Inside) -> None:
    """In a test of the program's own: pytest's capture and import hooks are around it."""
    site = REPOSITORY / "build/tools/site-packages"
    if not (site / "pytest").exists():
        pytest.skip("no pytest in build/tools/site-packages (make prepare)")
    inside.workshop.write(
        "test_mine.py", WORK + '\ndef test_mine(tmp_path):\n    with genba.record("app.genba"):\n        assert during(800)\n'
    )
    path = f"{inside.environment['PYTHONPATH']}:{inside.workshop.program('build/tools/site-packages')}"
    python = inside.workshop.interpreter.path
    done = inside.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"], {"PYTHONPATH": path})
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
    [row, *_] = inside.recording("app.genba").report_json()["rows"]
    assert (row["function"], row["expression"]) == ("copies", "DATA[start:]")


KERNEL = """
import sys
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel()
try:
    for cell in open(sys.argv[1]).read().split("# next cell"):
        answer = client.execute_interactive(cell, timeout=120)["content"]
        assert answer["status"] == "ok", "".join(answer["traceback"])
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
"""


def test_in_a_notebook(inside: Inside) -> None:
    """Jupyter's kernel: its own threads, its own loop, cells whose source is in no file."""
    packages = package_folder(inside.workshop, "ipykernel")
    cells = inside.workshop.write(
        "cells.py",
        "__file__ = 'notebook'\n" + WORK + '# next cell\nr = genba.record("app.genba")\nr.__enter__()\n# next cell\nduring(500)\n# next cell\nr.__exit__(None, None, None)\n',
    )
    client = inside.workshop.write("client.py", KERNEL)
    path = f"{inside.environment['PYTHONPATH']}:{packages}"
    done = inside.run([inside.workshop.interpreter.path, client, cells], {"PYTHONPATH": path, "HOME": inside.workshop.place.inside})
    assert done.returncode == 0, done.stdout + done.stderr
    # On a busy machine the kernel's threads wait longer than the cell computes, and a report would be by wall time.
    first = inside.recording("app.genba").report_json("--weight", "cpu")["rows"][0]
    assert (first["function"], first["expression"], first["chain"][-1]) == ("copies", "DATA[start:]", "memmove")


def test_source_that_stands_in_no_file(inside: Inside) -> None:
    """A notebook's cell: its text is known to `linecache` alone."""
    inside.said(
        '''
import linecache
cell = "def in_cell():\\n    return [len(DATA[start:][:2]) for start in range(4000)]\\n"
name = "/tmp/ipykernel_1/42.py"
linecache.cache[name] = (len(cell), None, cell.splitlines(True), name)
exec(compile(cell, name, "exec"))
with genba.record("app.genba"):
    until = time.process_time() + 0.2
    while time.process_time() < until:
        in_cell()
'''
    )
    first = inside.recording("app.genba").report_json()["rows"][0]
    assert (first["file"], first["expression"]) == ("/tmp/ipykernel_1/42.py", "DATA[start:]")
