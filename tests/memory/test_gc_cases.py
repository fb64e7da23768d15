"""casebook/gc-threshold, gc-json and gc-cycle: what their pages say, from the recorded collections.

The programs count their own collections where the interpreter tells them. Recording begins a few milliseconds after the program does, later on a
busy machine: so a part of them is asked for, never all.
"""

import ast
import json
import re
from pathlib import Path
from typing import Any

from entered import on
from recording import REPOSITORY, Run, Workshop, genba_said
from running_program import started


def collections(run: Run) -> list[dict[str, Any]]:
    assert run.exit_code == 0, run.stderr
    found = json.loads(genba_said("gc", run.recording, "--format", "json"))
    assert found["collections_lost"] == 0
    return found["collections"]


def recorded(workshop: Workshop, name: str, *arguments: str) -> tuple[Run, list[dict[str, Any]]]:
    run = workshop.run(workshop.program(f"casebook/{name}"), *arguments, flags=("--gc",))
    return run, collections(run)


def within(rows: list[dict[str, Any]], name: str, *functions: str) -> list[dict[str, Any]]:
    """Those that the interpreter began at a line of these functions."""
    tree = ast.parse((REPOSITORY / "casebook" / name).read_text())
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in functions]
    assert {node.name for node in found} == set(functions)
    lines = {line for node in found for line in range(node.lineno, node.end_lineno + 1)}
    here = [row for row in rows if row["file"] and Path(row["file"]).parts[-2:] == Path(name).parts and row["line"] in lines]
    # Until unwind tables are there nothing tells why one ran.
    assert {row["reason"] for row in here} <= {"threshold", "unknown"}
    return here


def test_thresholds(workshop: Workshop) -> None:
    run, rows = recorded(workshop, "gc-threshold/slow.py", "300", "700", "10", "10")
    told = run.answer()
    assert told["requests_without"] == 0 and told["generations"][0] > 2000
    own = within(rows, "gc-threshold/slow.py", "table", "handle", "serve")
    assert 500 <= len(own) <= sum(told["generations"])
    # What the interpreter's own start left is old by then, or goes with the first.
    assert sum(row["collected"] for row in own[1:] if row["generation"] == 0) == 0, "nothing was garbage in a cycle"
    page = genba_said("gc", run.recording)
    assert "advice: with gc.set_threshold(" in page and "genba gc try --threshold" in page


@on("3.13", "3.15")
def test_thresholds_of_old(workshop: Workshop) -> None:
    """As published: at (500, 2, 2) a full collection in each request, at (2000, 2, 2) none."""
    name = "gc-threshold/slow.py"
    run, rows = recorded(workshop, name, "300", "500", "2", "2")
    assert run.answer()["requests_without_full"] == 0
    assert sum(row["generation"] == 2 for row in within(rows, name, "table", "handle", "serve")) >= 100
    run, rows = recorded(workshop, name, "100", "2000", "2", "2")
    told = run.answer()
    assert told["requests_without_full"] == 100 and told["requests_without"] >= 97
    assert len(within(rows, name, "table", "handle", "serve")) <= sum(told["generations"]) <= 4
    run, rows = recorded(workshop, "gc-threshold/fixed.py", "100")
    assert run.answer()["requests_without"] == 100 and within(rows, name, "table", "handle", "serve") == []


def test_json(workshop: Workshop) -> None:
    """220,000 living containers. Up to 3.11 an allocation runs a collection; later the interpreter's loop does, which sees none while C code runs."""
    name = "gc-json/slow.py"
    _, rows = recorded(workshop, name, "55000", "c")
    in_c = within(rows, name, "decode_in_c")
    if workshop.interpreter.minor == "3.11":
        assert len(in_c) >= 250
    else:
        assert len(in_c) <= 2
    _, rows = recorded(workshop, name, "20000", "python")
    in_python = within(rows, name, "decode_in_python", "__init__")
    assert len(in_python) >= 20
    assert sum(row["collected"] for row in in_c + in_python) == 0
    _, rows = recorded(workshop, "gc-json/fixed.py", "20000", "python")
    assert within(rows, name, "decode_in_python", "__init__") == []


def test_cycles(workshop: Workshop) -> None:
    run, rows = recorded(workshop, "gc-cycle/slow.py", "400000")
    told = run.answer()
    assert sum(collected for _, collected in told) > 390_000
    # Of those that ran after the loop, if any.
    ours = [[row["generation"], row["collected"]] for row in rows if row["reason"] != "shutdown"]
    assert any(ours[end - 50 : end] == told[-50:] for end in range(len(ours) - 5, len(ours) + 1)), "each as the program was told it"
    young = [row for row in within(rows, "gc-cycle/slow.py", "make") if row["generation"] == 0]
    threshold = 700 if workshop.interpreter.minor_number <= 12 else 2000
    assert len(young) >= 50 and {row["collected"] for row in young[1:]} <= set(range(threshold, threshold + 100))
    assert all(row["examined"] - row["collected"] <= 20 for row in young), "nearly all of it was garbage"
    page = genba_said("gc", run.recording)
    (outside,) = re.findall(r"^advice: ([\d,]+) objects were garbage .* genba\.gc\.after_response\(application\)", page, re.MULTILINE)
    (broken,) = re.findall(r"^advice: ([\d,]+) such objects were in cycles.* genba gc cycles PID", page, re.MULTILINE)
    freed = sum(row["collected"] for row in rows if row["reason"] == "threshold")
    assert (outside, broken) == (f"{freed:,}", f"{freed:,}"), page
    run, rows = recorded(workshop, "gc-cycle/fixed.py", "400000")
    assert run.answer() == [] and within(rows, "gc-cycle/fixed.py", "make") == []


def test_which_cycles_wait(workshop: Workshop) -> None:
    with started(workshop, workshop.program("casebook/gc-cycle/wait.py"), "10000") as program:
        said = genba_said("gc", "cycles", str(program.pid))
        assert "10,000 cycles of 1 object each" in said and '       10,000  dict["key"] → dict\n' in said
        assert "break it: drop the dict's key 'key': del d['key'] or d.clear() when it is done" in said
        assert "and free 10,000, which gc.collect() returns, plus weak references" in said
        assert program.end() == 10_000
