"""What people run, as works of `make bench`: a server under load, test suites, pools of processes, machines without an idle CPU.

Owns: the works, and what each counts as one unit of work. Never: waits for something without an end.
A work that serves requests returns its own figures, per thousand requests; the others are measured from start to end by ../workload.py.
"""

import hashlib
import multiprocessing
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
SERVER_WARM_SECONDS = 3
SERVER_SECONDS = 3
CONNECTIONS = 8
LISTENING = re.compile(r"Listening at: (http://127\.0\.0\.1:\d+)")
REQUESTS = re.compile(r"^\s*(\d+) requests in", re.MULTILINE)
TESTS = 2000
SHORT_PROCESSES = 30


def spin(count):
    total = 0
    for number in range(count):
        total += number * number % 7
    return total


def one_cpu():
    """Two threads that want the interpreter, on the one CPU that the whole run has (see goals/real.py)."""
    at_once([threading.Thread(target=spin, args=(22_000_000,)) for _ in range(2)])


def two_busy():
    """Two threads that both run: hashing lets the interpreter go. Two CPUs have nothing left."""
    at_once([threading.Thread(target=hashlib.pbkdf2_hmac, args=("sha256", b"word", b"salt", 5_000_000)) for _ in range(2)])


def pool():
    """Two workers that the `with` block ends by a signal."""
    with multiprocessing.get_context("fork").Pool(2) as workers:
        workers.map(spin, [1_100_000] * 40, chunksize=1)


def short_processes():
    """Thirty interpreters, one after the other, each with a few imports."""
    for _ in range(SHORT_PROCESSES):
        subprocess.run([sys.executable, "-c", "import json, decimal, dataclasses; print(json.dumps([1]))"], check=True, stdout=subprocess.DEVNULL)


def pytest_faulthandler():
    """A suite of two thousand small tests in one process, three seconds of them; pytest turns faulthandler on."""
    run_pytest([])


def pytest_xdist():
    """The same in two processes."""
    run_pytest(["-n", "2"])


def gunicorn():
    """Two workers of gunicorn that render a page for each request, with as much load as they take."""
    command = [sys.executable, "-m", "gunicorn", "--workers", "2", "--bind", "127.0.0.1:0", "--no-control-socket"]
    server = subprocess.Popen(
        [*command, "--chdir", str(HERE), "real_server:application"], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        address = next(match[1] for line in server.stderr if (match := LISTENING.search(line)))
        load(address, SERVER_WARM_SECONDS)
        before_ns = group_cpu_ns(server.pid)
        requests = load(address, SERVER_SECONDS)
        used_ns = group_cpu_ns(server.pid) - before_ns
        server.terminate()
        server.communicate(timeout=60)
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
    return {"cpu_ns": used_ns * 1000 // requests, "wall_ns": SERVER_SECONDS * 10**9 * 1000 // requests}


def load(address, seconds):
    """How many requests were answered. Loopback alone is asked, for a few seconds."""
    command = ["wrk", "--threads", "1", "--connections", str(CONNECTIONS), "--duration", f"{seconds}s", address]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    if "Non-2xx" in said or "Socket errors" in said:
        sys.exit(f"error: requests failed\n{said}")
    return int(REQUESTS.search(said)[1])


def group_cpu_ns(group):
    """CPU so far of all living processes of a process group, threads of profilers included."""
    total = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if os.getpgid(int(entry.name)) == group:
                total += sum(int((task / "schedstat").read_text().split()[0]) for task in (entry / "task").iterdir())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total


def run_pytest(flags):
    """In processes of their own, as a user starts it: what ends with pytest does not end the work."""
    text = f"import pytest\n@pytest.mark.parametrize('number', range({TESTS}))\ndef test_sorts(number):\n"
    text += "    words = [str(n * number) for n in range(2000)]\n    assert sorted(words) == sorted(reversed(words))\n"
    with tempfile.TemporaryDirectory(prefix="genba-bench-") as folder:
        (Path(folder) / "test_sorting.py").write_text(text)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *flags, folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder)


def at_once(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def children_ns():
    """CPU so far of all children that were waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((used.ru_utime + used.ru_stime) * 1e9)


WORKS = {
    work.__name__: work
    for work in (one_cpu, two_busy, gunicorn, pytest_faulthandler, pytest_xdist, pool, short_processes)
}
