"""gunicorn with two workers: each worker has samples of its own request handler's lines, and one that its master kills has all its CPU."""

import os
import re
import signal
import socket
import subprocess
import urllib.request
from collections import Counter

import pytest

from profile_tables import RUNNING
from recording import REPOSITORY, Run, Workshop
from stalls import Stalls
from test_not_recorded import ROUNDED_NS, assert_said, recorded_with_kills

REQUESTS_EACH = 30
REQUESTS_MAX = 4000
LISTENING = re.compile(r"\[(\d+)\] \[INFO\] Listening at: (http://127\.0\.0\.1:\d+)")


def test_two_workers(workshop: Workshop) -> None:
    process = start(workshop, "--workers", "2")
    try:
        master, address = wait_for_address(process)
        answered = ask_until_both_answered(address)
        os.kill(master, signal.SIGTERM)
        run = workshop.finish(process, "served.genba")
    finally:
        process.kill()
    assert run.exit_code == 0, run.stderr
    profile = run.profile()
    for pid, requests in answered.items():
        index = profile.process_of(pid)
        rows = [
            row for row in profile.rows()
            if row.process == index and row.state in RUNNING and "handle_request" in row.names()
        ]
        lines = {line for row in rows for name, line in row.own_lines() if name == "handle_request"}
        # 10 ms of work a request, a look every millisecond: at the very least one look a request.
        assert sum(row.samples for row in rows) >= requests, (pid, requests, profile["processes"][index])
        assert lines, "samples have lines of the handler"


def test_signals_to_the_pid_that_was_started(workshop: Workshop) -> None:
    """As gunicorn's manual has it: SIGTTIN adds a worker, SIGTTOU takes one away, SIGHUP replaces them, SIGTERM ends them all."""
    process = start(workshop, "--workers", "1")
    try:
        wait_for_address(process)
        until(process, "Booting worker")
        process.send_signal(signal.SIGTTIN)
        until(process, "Handling signal: ttin")
        until(process, "Booting worker")
        process.send_signal(signal.SIGTTOU)
        until(process, "Handling signal: ttou")
        until(process, "Worker exiting")
        process.send_signal(signal.SIGHUP)
        until(process, "Handling signal: hup")
        until(process, "Booting worker")
        process.send_signal(signal.SIGTERM)
        run = workshop.finish(process, "served.genba")
    finally:
        process.kill()
    assert run.exit_code == 0, run.stderr


def until(process: subprocess.Popen, words: str) -> None:
    said = []
    for line in process.stderr:
        said.append(line)
        if words in line:
            return
    raise AssertionError(f"ended without {words!r}:\n" + "".join(said))


# The master's clock of a worker, read when the master begins to kill it.
TELLS_CLOCKS = """
import os, sys, time
kill = os.kill
def tell(pid, number):
    print("kills", pid, int(number), time.clock_gettime_ns(~pid << 3 | 2), file=sys.stderr, flush=True)
    kill(pid, number)
os.kill = tell
"""
HANGING = 5


# How many write within 5 ms depends on who else wants a CPU.
@pytest.mark.measures
@pytest.mark.parametrize("path, ends_by", [("/hang", signal.SIGABRT), ("/hang/on", signal.SIGKILL)])
def test_workers_that_time_out(workshop: Workshop, stalls: Stalls, path: str, ends_by: signal.Signals) -> None:
    """The master sends SIGABRT, by which gunicorn's worker ends as Python programs end, and SIGKILL to one that is still there when it looks again."""
    clocks: dict[int, int] = {}

    def served() -> Run:
        clocks.clear()
        return timed_out(workshop, path, ends_by, clocks)

    run = recorded_with_kills(stalls, served, lambda _: clocks)
    profile = run.profile()
    for pid, clock_ns in clocks.items():
        worker = profile["processes"][profile.process_of(pid)]
        assert worker["cpu_ns"] + worker["cpu_not_recorded_ns"] >= clock_ns - ROUNDED_NS, worker
    assert_said(run, profile)


def timed_out(workshop: Workshop, path: str, ends_by: signal.Signals, clocks: dict[int, int]) -> Run:
    """Adds the clock of each worker when its master begins to kill it."""
    (workshop.place.outside / "served.genba").unlink(missing_ok=True)
    process = start(workshop, "--workers", str(HANGING), "--timeout", "1", "--config", workshop.write("tells.py", TELLS_CLOCKS))
    try:
        master, address = wait_for_address(process)
        host, _, port = address.partition("//")[2].partition(":")
        asked = [socket.create_connection((host, int(port))) for _ in range(HANGING)]
        for connection in asked:
            connection.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        for line in process.stderr:
            match line.split():
                case ["kills", pid, number, clock_ns] if int(number) == ends_by:
                    clocks[int(pid)] = int(clock_ns)
                    if len(clocks) == HANGING:
                        break
        os.kill(master, signal.SIGTERM)
        run = workshop.finish(process, "served.genba")
    finally:
        process.kill()
    for connection in asked:
        connection.close()
    return run


def start(workshop: Workshop, *more: str) -> subprocess.Popen:
    if not (REPOSITORY / "build/tools/site-packages/gunicorn").exists():
        pytest.skip("no gunicorn in build/tools/site-packages (make prepare)")
    path = f"{workshop.program('build/tools/site-packages')}:{workshop.program('tests/programs')}"
    target = [workshop.interpreter.path, "-m", "gunicorn", *more, "--bind", "127.0.0.1:0"]
    target += ["--no-control-socket", "served:application"]
    # A rate that is asked for is kept: the budget of a worker that mostly waits would make it look less often than once a request.
    return workshop.start(target, ["-o", f"{workshop.place.inside}/served.genba", "--rate", "1000"], {"PYTHONPATH": path})


def wait_for_address(process: subprocess.Popen) -> tuple[int, str]:
    said = []
    for line in process.stderr:
        said.append(line)
        if match := LISTENING.search(line):
            return int(match[1]), match[2]
    raise AssertionError("gunicorn ended without listening:\n" + "".join(said))


def ask_until_both_answered(address: str) -> Counter:
    answered: Counter = Counter()
    for _ in range(REQUESTS_MAX):
        with urllib.request.urlopen(address, timeout=30) as answer:
            answered[int(answer.read())] += 1
        if len(answered) == 2 and min(answered.values()) >= REQUESTS_EACH:
            return answered
    raise AssertionError(f"{REQUESTS_MAX} requests, answered by {answered}")
