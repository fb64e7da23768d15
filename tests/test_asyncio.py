"""Programs in asyncio's event loop: the report says what it cannot tell, waiting costs no CPU."""

from profile_tables import RUNNING
from recording import Workshop
from test_verdict import TASKS


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
