"""What reads a `.prof` file: pstats of every version, snakeviz, gprof2dot and tuna.

Owns: what each of them is asked, which is a number of calls. The last three are in build/peers/readers (make/prepare.sh readers).
"""

import io
import marshal
import os
import re
import subprocess

import pytest

from interpreters import CHROOT, Interpreter, found, pyenv_versions
from recording import REPOSITORY, RUN_SECONDS_MAX, Workshop
from test_trace import traced

# `f` is in the first line, and is called from two functions and by itself. The awaits are behind what pstats reads.
PROGRAM = """def f(n): return n and f(n - 1)
def generator():
    yield f(3)
class Thing:
    def method(self): return sorted([2, 1], key=lambda one: one)
import types
@types.coroutine
def turn(): yield
async def waits(): await turn()
def drive(coroutine):
    try:
        while True: coroutine.send(None)
    except StopIteration: pass
for _ in range(700):
    f(2), list(generator()), Thing().method()
    drive(waits())
"""
# The header has the name of the file and the time, which differ.
LIST = (
    "import pstats, sys, tempfile\n"
    "with tempfile.NamedTemporaryFile() as file:\n"
    "    file.write(sys.stdin.buffer.read())\n"
    "    file.flush()\n"
    "    stats = pstats.Stats(file.name)\n"
    "stats.strip_dirs().sort_stats('stdname').print_stats()\n"
    "stats.print_callers()\n"
    "stats.print_callees()\n"
)
READERS = REPOSITORY / "build/peers/readers"
TOOLS = REPOSITORY / "build/tools/bin/python"


def written(workshop: Workshop) -> bytes:
    program = workshop.write("read.py", PROGRAM)
    done = traced(workshop, "-q", "-o", f"{workshop.place.inside}/read.prof", "--python", workshop.interpreter.path, program)
    assert done.returncode == 0, done.stderr
    prof = (workshop.place.outside / "read.prof").read_bytes()
    stream = io.BytesIO(prof)
    marshal.load(stream)
    assert stream.read(), "the awaits"
    return prof


def listed(by: Interpreter, prof: bytes) -> str:
    command = [by.path, "-c", LIST] if by.root is None else [CHROOT, str(by.root), by.path, "-c", LIST]
    done = subprocess.run(command, input=prof, capture_output=True, timeout=RUN_SECONDS_MAX)
    assert done.returncode == 0, f"{by.name}: {done.stderr.decode()}"
    return done.stdout.decode().split("\n\n", 1)[1]


def test_pstats_of_every_version_reads_it(workshop: Workshop) -> None:
    prof = written(workshop)
    own = listed(workshop.interpreter, prof)
    assert "(f)" in own and "4900/1400" in own and "{built-in method builtins.sorted}" in own
    others = [one for one in found() if one.name != workshop.interpreter.name]
    if not others:
        pytest.skip("no second CPython here")
    for other in others:
        assert listed(other, prof) == own, other.name


def test_pstats_of_older_versions_reads_it(workshop: Workshop) -> None:
    older = [path for path in pyenv_versions().glob("*/bin/python") if re.match(r"2\.7|3\.([6-9]|10)\.", path.parts[-3])]
    if not older:
        pytest.skip("pyenv has no CPython before 3.11")
    written(workshop)
    for python in older:
        code = "import pstats; pstats.Stats('read.prof').strip_dirs().print_stats()"
        done = subprocess.run([str(python), "-c", code], cwd=workshop.place.outside, capture_output=True, text=True, timeout=RUN_SECONDS_MAX)
        rows = [line.split()[0] for line in done.stdout.splitlines() if line.endswith("(f)")]
        assert rows == ["4900/1400"], f"{python}: {done.stdout}{done.stderr}"


ASKED = {
    "snakeviz": (
        "import pstats, sys\n"
        "from snakeviz.stats import json_stats, table_rows\n"
        "stats = pstats.Stats(sys.argv[1])\n"
        "found = [numbers['stats'][:2] for name, numbers in json_stats(stats).items() if name.endswith('read.py:1(f)')]\n"
        "print([row[0] for row in table_rows(stats) if row[5] == 'read.py:1(f)'], found)\n",
        "[['4900/1400', 4900]] [[1400, 4900]]\n",
    ),
    "gprof2dot": (
        "import re, sys, gprof2dot\n"
        "gprof2dot.main(['-f', 'pstats', '-n', '0', '-e', '0', '-o', 'read.dot', sys.argv[1]])\n"
        "print(re.findall(r'label=\"read:1:f[^\"]*?([0-9]+)×\"', open('read.dot', encoding='utf-8').read()))\n",
        "['4900']\n",
    ),
    # tuna ends its tree where a function has several callers: below each of them it has the time that `f` took from there.
    "tuna": (
        "import pstats, sys\n"
        "from tuna.main import read\n"
        "def nodes(node):\n"
        "    yield node\n"
        "    for child in node.get('children', []): yield from nodes(child)\n"
        "((f, numbers),) = [row for row in pstats.Stats(sys.argv[1]).stats.items() if row[0][2] == 'f']\n"
        "below = [node['children'] for node in nodes(read(sys.argv[1])) if node['text'] == ['{}::{}::{}'.format(*f)]]\n"
        "times = sorted(callers[3] for caller, callers in numbers[4].items() if caller != f)\n"
        "print(len(below), times == sorted(child['value'] for (child,) in below))\n",
        "2 True\n",
    ),
}


@pytest.mark.parametrize("reader", ASKED)
def test_other_tools_read_it(workshop: Workshop, reader: str) -> None:
    if not any(READERS.glob(f"{reader}*")):
        pytest.skip(f"{reader} is not in build/peers/readers: make/prepare.sh readers")
    written(workshop)
    program, expected = ASKED[reader]
    done = subprocess.run(
        [str(TOOLS), "-c", program, str(workshop.place.outside / "read.prof")],
        cwd=workshop.place.outside, env={**os.environ, "PYTHONPATH": str(READERS)}, capture_output=True, text=True, timeout=RUN_SECONDS_MAX,
    )
    assert (done.returncode, done.stdout) == (0, expected), done.stderr
