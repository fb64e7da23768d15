"""What a busy server with threads loses while `genba heap` looks a hundred times, one look after the other: its clients' time, beside what genba
says of each look. It sees no child.

Owns: the client, the looks, the figures (works/threaded_server.py is the server). Settings: LOOKS (100).
"""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import client
from goals.heap import asked
from row import Row

WORK = str(Path(__file__).resolve().parent.parent / "works/threaded_server.py")
LOOKS = 100
# Large enough for copies: under half a million objects a heap is walked in place.
OBJECTS = 1_000_000
ALONE_SECONDS = 5
WARM_SECONDS = 1


def rows(options: Namespace, folder: Path) -> list[Row]:
    del folder
    looks = int(os.environ.get("LOOKS") or LOOKS)
    server = subprocess.Popen([options.python, WORK, str(OBJECTS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        port = json.loads(server.stdout.readline())["port"]
        # The first look loads genba's library.
        asked(options, server.pid)
        asked_during(port, lambda: time.sleep(WARM_SECONDS))
        alone = asked_during(port, lambda: time.sleep(ALONE_SECONDS))
        next_line(server)
        pages: list[dict] = []
        looked_at = asked_during(port, lambda: pages.extend(asked(options, server.pid) for _ in range(looks)))
        told = next_line(server)
    finally:
        server.kill()
        server.wait()
    if len(pages) < looks or told["children"] or any(page["walked"] != "copy" for page in pages):
        sys.exit(f"error: {len(pages)} of {looks} looks, not all of copies, or the server saw a child: {told}")
    return figures(alone, looked_at, pages, told)


def next_line(server: subprocess.Popen) -> dict:
    server.stdin.write("\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


def asked_during(port: int, work: Callable[[], object]) -> list[float]:
    """Milliseconds of each request, one after the other, until the work is done."""
    took_ms: list[float] = []
    worker = threading.Thread(target=work)
    worker.start()
    while worker.is_alive():
        took_ms.append(client.asked(port))
    worker.join()
    return took_ms


def figures(alone: list[float], looked_at: list[float], pages: list[dict], told: dict) -> list[Row]:
    said_ms = [(page["pause_ns"] + page["stopped_ns"]) / 1e6 for page in pages]
    # The client waits for one answer before it asks again: what a request takes more, all of them together, is what the looks took away.
    lost_ms = sum(looked_at) - len(looked_at) * statistics.mean(alone)
    faults = statistics.median(page["page_faults"] for page in pages)
    own = f"genba says: held and stopped for {statistics.median(said_ms):.2f} ms, at most {max(said_ms):.2f} ms, {faults:,.0f} page faults"
    memory = f"resident memory grew by {told['grown_kb']:,} kB"
    median = f"median {statistics.median(looked_at):.2f} ms, alone {statistics.median(alone):.2f} ms"
    slowest = f"the slowest {max(looked_at):.2f} ms, alone {max(alone):.2f} ms; {len(looked_at):,} requests"
    goal = f"heap: 99 % of requests to a server with threads take at most, {len(pages)} looks in a row"
    return [
        Row(goal, client.slowest(looked_at), "ms", yardstick=f"alone {client.slowest(alone):.2f} ms; {median}; {slowest}"),
        Row("heap: requests to it lose with each of these looks", lost_ms / len(pages), "ms", yardstick=f"{own}; {memory}"),
    ]
