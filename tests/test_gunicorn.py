"""gunicorn with two workers: each worker has samples of its own request handler's lines."""

import os
import re
import signal
import subprocess
import urllib.request
from collections import Counter

import pytest

from profile_tables import RUNNING
from recording import REPOSITORY, Workshop

REQUESTS_EACH = 30
REQUESTS_MAX = 4000
LISTENING = re.compile(r"\[(\d+)\] \[INFO\] Listening at: (http://127\.0\.0\.1:\d+)")


def test_two_workers(workshop: Workshop) -> None:
    if not (REPOSITORY / "build/tools/site-packages/gunicorn").exists():
        pytest.skip("no gunicorn in build/tools/site-packages (make prepare)")
    path = f"{workshop.program('build/tools/site-packages')}:{workshop.program('tests/programs')}"
    target = [workshop.interpreter.path, "-m", "gunicorn", "--workers", "2", "--bind", "127.0.0.1:0"]
    target += ["--no-control-socket", "served:application"]
    flags = ["-o", f"{workshop.place.inside}/served.genba"]
    process = workshop.start(target, flags, {"PYTHONPATH": path})
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
