"""A recording of `genba trace -o app.genba` in every view: each opens it, says that it holds counts, and shows the exact ones where it shows any.

Owns: a program whose calls are known, and those calls as every view has them.
"""

import base64
import gzip
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from profile_tables import Profile
from recording import REPOSITORY, Workshop, binary, genba, genba_said
from test_trace import traced

PROGRAM = """def leaf(n): return len([n])
def branch(n):
    for _ in range(n): leaf(n)
def deep(n): return n and deep(n - 1)
for _ in range(3): branch(7)
deep(4)
# Some milliseconds without a call, so that time is left when the tracer's is taken off.
for _ in range(300_000): pass
"""
# A stack is a function below its caller.
CALLS = {
    ("<module>",): 1,
    ("<module>", "branch"): 3,
    ("branch", "leaf"): 21,
    ("leaf", "built-in method builtins.len"): 21,
    ("<module>", "deep"): 1,
    ("deep", "deep"): 4,
}
ALL = sum(CALLS.values())
# A call of a function in C counts where it was called from, too.
BY_FUNCTION = {"leaf": 42, "deep": 5, "branch": 3, "<module>": 1}
COUNTS = ("--weight", "samples")
EXACT = "traced: counts exact, times include the tracer's (about "
TICKS = f"ticks {ALL} = sampled {ALL} + dropped 0 + refused 0"


@pytest.fixture(scope="module")
def recording(module_workshop: Workshop) -> Path:
    program = module_workshop.write("calls.py", PROGRAM)
    words = ("--quiet", "-o", f"{module_workshop.place.inside}/calls.genba", "--python", module_workshop.interpreter.path)
    done = traced(module_workshop, *words, program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.stderr
    return module_workshop.place.outside / "calls.genba"


def said_json(*words: str | Path) -> Any:
    return json.loads(genba_said(*words, "--format", "json"))


def begins_as_counts(text: str) -> bool:
    """The first line may be broken for the terminal."""
    head = re.sub(r"\n +", " ", text)
    return EXACT in head.splitlines()[0] and TICKS in head


def stacks(tables: dict[str, Any]) -> dict[tuple[str, ...], int]:
    return {tuple(row.names()): row.samples for row in Profile(tables).rows()}


def test_report(recording: Path) -> None:
    text = genba_said("report", recording, *COUNTS, "--min-share", "0")
    assert begins_as_counts(text) and "not judged: " in text
    rows = re.findall(r"^ *([\d.]+) % +(\d+) +calls\.py (\S+)$", text, re.MULTILINE)
    assert {name: (int(calls), share) for share, calls, name in rows} == {
        name: (calls, f"{100 * calls / ALL:.1f}") for name, calls in BY_FUNCTION.items()
    }
    # leaf's own 21 calls, and as many of len below it.
    assert "built-in method builtins.len (C) 50 %" in text
    for by in ((), ("--by", "function")):
        said = said_json("report", recording, *COUNTS, "--min-share", "0", *by)
        assert {row["function"]: row["samples"] for row in said["rows"]} == BY_FUNCTION
        assert said["accounting"]["ticks"] == ALL and said["verdict"]["name"] == "not judged"
    assert "weight: wall, because counts of calls tell no CPU time" in genba_said("report", recording)


def test_tree(recording: Path) -> None:
    text = genba_said("tree", recording, *COUNTS)
    assert begins_as_counts(text) and f"{100 * 21 / ALL:.1f} %" in text
    said = said_json("tree", recording, *COUNTS)
    branches = said["branches"]
    found = {}
    for branch in branches:
        above = () if branch["parent"] is None else (branches[branch["parent"]]["name"],)
        if branch["samples"]:
            found[*above, branch["name"]] = branch["samples"]
    assert said["samples"] == ALL and found == CALLS


def test_lines(recording: Path) -> None:
    """Counts are those of functions: no line has any."""
    text = genba_said("lines", recording, *COUNTS)
    assert begins_as_counts(text) and len(re.findall(r"–  without a line$", text, re.MULTILINE)) == len(BY_FUNCTION)
    functions = said_json("lines", recording, *COUNTS)["functions"]
    assert {one["function"]: one["samples"] for one in functions} == BY_FUNCTION
    assert {line["line"] for one in functions for line in one["lines"]} == {None}


def test_check(recording: Path) -> None:
    text = genba_said("check", recording)
    assert EXACT in text and TICKS in text and "not checked: genba trace counts calls" in text
    assert text.endswith("the file is intact\n")


def test_export(recording: Path) -> None:
    tables = json.loads(genba_said("export", recording, "--to", "json", "-o", "-"))
    assert stacks(tables) == CALLS
    (process,) = tables["processes"]
    assert process["imported"].startswith(EXACT) and tables["meta"]["default_weight_why"] == "counts of calls tell no CPU time"
    collapsed = genba_said("export", recording, "--to", "collapsed", "-o", "-")
    found = {}
    for line in collapsed.splitlines():
        stack, _, calls = line.rpartition(" ")
        # NAME (FILE), or NAME [C].
        found[tuple(re.sub(r" [(\[][^;]*[)\]]$", "", frame) for frame in stack.split(";"))] = int(calls)
    assert found == CALLS
    speedscope = json.loads(genba_said("export", recording, "--to", "speedscope", *COUNTS, "-o", "-"))
    assert sum(sum(profile["weights"]) for profile in speedscope["profiles"]) == ALL


def test_html(recording: Path) -> None:
    page = genba_said("html", "-o", "-", recording)
    (packed,) = re.findall(r'data-numbers="gzip\+base64">([^<]+)<', page)
    numbers = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert stacks(numbers["profile"]) == CALLS
    (process,) = numbers["profile"]["processes"]
    assert process["imported"].startswith(EXACT)


def test_diff_with_itself(recording: Path) -> None:
    text = genba_said("diff", recording, recording)
    assert f"calls:  {ALL} → {ALL}" in text and text.endswith("no function has other counts or times\n")
    said = said_json("diff", recording, recording)
    calls = {re.sub(r"^.*\((.+)\)$", r"\1", row["function"]): row["calls"] for row in said["rows"]}
    own = {name: sum(count for stack, count in CALLS.items() if stack[-1] == name) for name in ("leaf", "branch", "deep", "<module>")}
    assert {name: calls[name] for name in own} == {name: [count, count] for name, count in own.items()}


def test_pstats(recording: Path) -> None:
    text = genba_said("pstats", recording, "--strip", "--sort", "stdname", "--stats")
    assert f"{ALL} function calls ({ALL - 4} primitive calls) in " in text
    rows = {line.split()[-1]: line.split()[0] for line in text.splitlines() if "calls.py:" in line}
    assert rows == {"calls.py:1(<module>)": "1", "calls.py:1(leaf)": "21", "calls.py:2(branch)": "3", "calls.py:4(deep)": "5/1"}


def test_pstats_adds_and_reads_recordings_as_it_does_files(recording: Path, tmp_path: Path) -> None:
    """On the command line and in the shell, beside a .prof file of cProfile's."""
    calls = lambda text: re.findall(r"^ +(\d+) function calls", text, re.MULTILINE)
    theirs = REPOSITORY / "testdata/imports/cprofile-3.13.0.prof"
    alone = int(*calls(genba_said("pstats", theirs, "--sort", "calls", "--stats", "1")))
    assert calls(genba_said("pstats", recording, recording, "--sort", "calls", "--stats", "1")) == [str(2 * ALL)]
    assert calls(genba_said("pstats", theirs, recording, "--sort", "calls", "--stats", "1")) == [str(ALL + alone)]
    lines = f"stats 1\nadd {theirs}\nstats 1\nadd {recording}\nstats 1\nread {recording}\nstats 1\n"
    shell = subprocess.run([binary(), "pstats", recording], input=lines, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (shell.returncode, shell.stderr) == (0, ""), shell.stderr
    assert calls(shell.stdout) == [str(ALL), str(ALL + alone), str(2 * ALL + alone), str(ALL)], shell.stdout


def test_what_counts_do_not_tell(recording: Path) -> None:
    refused = genba("gc", recording)
    assert refused.returncode == 1 and "calls.genba has no garbage collections" in refused.stderr
