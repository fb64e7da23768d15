"""Programs in asyncio's event loop: the tree begins at what the loop runs, waiting costs no CPU."""

import json

import pytest

from profile_tables import RUNNING
from recording import Run, Workshop
from running_program import started
from stalls import Stalls, undisturbed

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


# Of its first argument's kind, five times. A thread that reads its CPU clock makes the kernel look whether its turn is over: read too often,
# it loses the CPU there and nowhere else, and a busy machine lets genba look at nothing but that.
BLOCKING = """
import asyncio, hashlib, sys, threading, time

def spend(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        hashlib.pbkdf2_hmac("sha256", b"word", b"salt", 20_000)

async def naps():
    for _ in range(5):
        time.sleep(0.2)
        await asyncio.sleep(0.01)

async def short_naps():
    for _ in range(40):
        time.sleep(0.02)
        await asyncio.sleep(0)

async def digests():
    for _ in range(5):
        spend(0.12)
        await asyncio.sleep(0)

def digest(left, done):
    spend(0.12)
    if left > 1:
        asyncio.get_running_loop().call_soon(digest, left - 1, done)
    else:
        done.set_result(None)

async def callbacks():
    done = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(digest, 5, done)
    await done

async def apart():
    thread = threading.Thread(target=lambda: asyncio.run(digests()))
    thread.start()
    while thread.is_alive():
        await asyncio.sleep(0.01)

async def long_naps():
    before, after = [], []
    for _ in range(5):
        before.append(time.monotonic_ns())
        await asyncio.sleep(0)
        after.append(time.monotonic_ns())
        time.sleep(0.3)
        spend(0.03)
    await asyncio.sleep(0)
    after.append(time.monotonic_ns())
    # No step was longer: this begins in the one before, and ends in the next.
    print(max(end_ns - begin_ns for begin_ns, end_ns in zip(before, after[1:])))

asyncio.run(globals()[sys.argv[1]]())
"""


# A step takes 50 ms to be told of, and the shortest of these 120: a machine that keeps a thread waiting for so long makes steps of its own.
STALL_NS_MAX = 20_000_000


# The call that blocks, in the function that it is written in, and the function that the loop ran.
NAP = ("naps", "time.sleep(0.2)")
DIGEST = ("spend", 'hashlib.pbkdf2_hmac("sha256", b"word", b"salt", 20_000)')


@pytest.mark.parametrize("kind, call, callback", [("naps", NAP, None), ("digests", DIGEST, "digests"), ("callbacks", DIGEST, "digest"), ("apart", DIGEST, "digests")])
def test_callbacks_that_block_the_loop_are_told(workshop: Workshop, stalls: Stalls, kind: str, call: tuple[str, str], callback: str | None) -> None:
    program = workshop.write("blocking.py", BLOCKING)

    def told(run: Run) -> tuple[list[str], bool]:
        """The words about the loop, and whether they are right."""
        verdict = run.report_json()["verdict"]
        lines, blocks = [line for line in verdict["details"] if "event loop" in line], verdict["blocks"]
        # A block is seen or not; none is two.
        is_right = len(lines) == 1 and blocks is not None and 1 <= blocks["times"] <= 5 and (blocks["function"], blocks["expression"]) == call
        is_right = is_right and (blocks["callback"] or {}).get("function") == callback
        if not is_right:
            return lines, False
        # Of the two lines of `spend`, a busy machine lets genba look at the one that reads the clock: a block is named by that then.
        named = lines[0] if call == NAP else lines[0].partition("; elsewhere for ")[0]
        return lines, f" {call[0]}   {call[1]}" in named and named.endswith(f" {callback}" if callback else call[1])

    run = undisturbed(stalls, STALL_NS_MAX, lambda: workshop.run(program, kind, flags=("--rate", "1000")), lambda run: told(run)[1])
    lines, is_right = told(run)
    assert is_right, (lines, run.report_json()["verdict"])
    assert run.report().count(lines[0]) == 1


def test_many_short_calls_that_block_are_told_together(workshop: Workshop, stalls: Stalls) -> None:
    program = workshop.write("blocking.py", BLOCKING)
    # A nap that this machine made long is a block, and told apart.
    is_well = lambda run: run.report_json()["verdict"]["blocks"] is None
    run = undisturbed(stalls, STALL_NS_MAX, lambda: workshop.run(program, "short_naps", flags=("--rate", "1000")), is_well)
    verdict = run.report_json()["verdict"]
    (line,) = [line for line in verdict["details"] if "event loop" in line]
    blocks = verdict["short_blocks"]
    assert verdict["blocks"] is None, line
    assert line.startswith("blocks the event loop briefly: at least "), line
    # None is told twice, and no two are told as one.
    assert blocks["times"] <= 40 and blocks["longest_ns"] < 2 * 20_000_000, line
    assert (blocks["function"], blocks["expression"], blocks["callback"]) == ("short_naps", "time.sleep(0.02)", None), line
    assert run.report().count(line) == 1


def test_a_wait_that_genba_rested_in_is_told_once(workshop: Workshop) -> None:
    """Where no rate is asked for, genba rests in each of these naps, and is woken when the thread works again, in the same step. How long the step is
    at most the program says: however busy the machine is, no tick can prove more. Of the rest itself, which no tick looked into, nothing is told."""
    run = workshop.run(workshop.write("blocking.py", BLOCKING), "long_naps")
    longest_ns = run.answer()
    blocks = run.report_json()["verdict"]["blocks"]
    assert 1 <= blocks["times"] <= 5 and blocks["longest_ns"] <= longest_ns, (blocks, longest_ns)


# It waits for its stdin in the loop, from before the recording until after it.
STUCK = """
import asyncio, sys

def load():
    sys.stdin.readline()

async def answer():
    await asyncio.sleep(0)
    print("ready", flush=True)
    load()
    print("{}")

asyncio.run(answer())
"""


def test_a_step_that_lasts_for_the_whole_recording_is_told(workshop: Workshop) -> None:
    with started(workshop, workshop.write("stuck.py", STUCK)) as program:
        run = program.recorded("stuck.genba", "--duration", "1s")
        program.end()
    blocks = run.report_json()["verdict"]["blocks"]
    assert blocks is not None, run.report()
    assert (blocks["times"], blocks["function"], blocks["callback"]["function"]) == (1, "load", "answer"), blocks


# Nothing of it keeps the loop for long, or there is no loop.
HEALTHY = """
import asyncio, contextvars, sys, time

def spend(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass

async def steps(count, seconds):
    for _ in range(count):
        spend(seconds)
        await asyncio.sleep(0)

async def short():
    await steps(1000, 0.001)

async def borderline():
    await steps(20, 0.03)

async def tasks():
    await asyncio.gather(*(steps(25, 0.002) for _ in range(20)))

async def awaits():
    for _ in range(5):
        await asyncio.sleep(0.15)

async def threads():
    for _ in range(3):
        await asyncio.to_thread(time.sleep, 0.15)
        await asyncio.to_thread(spend, 0.1)

def contexts():
    for _ in range(5):
        contextvars.copy_context().run(time.sleep, 0.1)
        contextvars.copy_context().run(spend, 0.1)

what = globals()[sys.argv[1]]
asyncio.run(what()) if asyncio.iscoroutinefunction(what) else what()
"""


# Where others want the CPUs, a thread that starts or waits for the GIL keeps the loop for 50 ms and more, and the report says so.
@pytest.mark.measures
@pytest.mark.parametrize("kind", ["short", "borderline", "tasks", "awaits", "threads", "contexts"])
def test_of_callbacks_that_give_way_nothing_is_told(workshop: Workshop, stalls: Stalls, kind: str) -> None:
    program = workshop.write("healthy.py", HEALTHY)
    tells = lambda run: "event loop" in run.report().split("\n\n")[0]
    record = lambda: workshop.run(program, kind, flags=("--rate", "1000"), python_flags=("-W", "ignore"))
    run = undisturbed(stalls, STALL_NS_MAX, record, lambda run: run.exit_code == 0 and not tells(run))
    assert run.exit_code == 0, run.stderr
    assert not tells(run)


# Of ten clients and their server, all in one loop.
ECHO = """
import asyncio, sys

async def handle(reader, writer):
    while line := await reader.readline():
        writer.write(line.upper())
        await writer.drain()
    writer.close()

async def client(port, count):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(count):
        writer.write(b"hello\\n")
        await writer.drain()
        await reader.readline()
    writer.close()

async def main():
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await asyncio.gather(*(client(port, int(sys.argv[1])) for _ in range(10)))

asyncio.run(main())
"""


def test_the_loops_own_work_is_not_the_line_that_started_it(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("echo.py", ECHO), "1500")
    assert run.exit_code == 0, run.stderr
    report = run.report_json("--weight", "cpu")
    rows = {row["phase"] or row["function"]: row for row in report["rows"]}
    assert rows[LOOP]["share"] > 0.2, run.report()
    started = rows.get("<module>", {"share": 0})
    assert started["share"] < rows[LOOP]["share"] / 4, run.report()
    assert "asyncio.run(main())" not in run.report().split("\n\n")[0]
