"""Programs in asyncio's event loop: the tree begins at what the loop runs, the report says what it cannot tell, waiting costs no CPU."""

import json

import pytest

from profile_tables import RUNNING
from recording import Run, Workshop
from test_verdict import TASKS

LOOP = "event loop (asyncio)"
LEFT_OUT = f"{LOOP}: the loop's own calls are left out; --whole shows them"


@pytest.mark.parametrize("flags", [(), ("--no-native",)], ids=["with C", "without C"])
def test_the_tree_begins_at_what_the_loop_runs(workshop: Workshop, flags: tuple[str, ...]) -> None:
    run = workshop.run(workshop.program("tests/verdicts/server.py"), "300", flags=flags)
    folded, whole = branches(run), branches(run, "--whole")
    (loop,) = [row for row in folded if row["kind"] == "loop"]
    assert (loop["name"], loop["parent"], folded[0]) == (LOOP, None, loop)
    below = {row["name"] for row in folded if row["parent"] == 0}
    assert below >= {"answer"} and not below & {"Handle._run", "context_run", "task_step"}, below
    parents = {row["parent"] for row in whole if row["name"] == "answer"}
    assert "loop" not in {row["kind"] for row in whole} and None not in parents
    for key in ("samples", "cpu_ns", "wall_ns"):
        assert sum(row[key] for row in folded) == sum(row[key] for row in whole)
    # What is left of the loop's own is the loop at work, whole from its root on.
    inside = [row for row in folded if row["name"] == "Handle._run"]
    assert all(row["parent"] is not None and not is_below(folded, row, loop) for row in inside), inside
    assert run.tree().splitlines()[-1] == LEFT_OUT
    assert f"\n{LEFT_OUT}\n```" in run.tree("--format", "markdown")
    for arguments in (("--whole",), ("--inverted",)):
        assert LOOP not in run.tree(*arguments)


def branches(run: Run, *flags: str) -> list[dict]:
    return json.loads(run.tree("--format", "json", *flags))["branches"]


def is_below(rows: list[dict], row: dict, above: dict) -> bool:
    while row["parent"] is not None:
        row = rows[row["parent"]]
    return row is above


def test_the_report_says_once_that_tasks_are_not_told_apart(workshop: Workshop) -> None:
    run = workshop.run(workshop.program("tests/verdicts/server.py"), "300")
    assert run.report().count(TASKS) == 1
    assert run.report("--format", "markdown").count(TASKS) == 1
    assert run.report_json()["verdict"]["details"].count(TASKS) == 1


SLEEPS = """
import asyncio, time

async def works():
    for _ in range(5):
        until = time.thread_time() + 0.05
        while time.thread_time() < until:
            pass
        await asyncio.sleep(0.1)

asyncio.run(works())
"""


def test_what_the_loop_waits_is_no_cpu(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("sleeps.py", SLEEPS))
    rows = list(run.profile().rows())
    waits = [row for row in rows if row.state.startswith("in epoll_")]
    assert sum(row.wall_ns for row in waits) >= 5 * 50_000_000
    assert {row.cpu_ns for row in waits} == {0}
    assert {row.state for row in waits} <= {"in epoll_wait(2)", "in epoll_pwait(2)"}
    assert any(row.state in RUNNING and "works" in row.names() for row in rows)
