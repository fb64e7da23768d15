"""`python tests/serve/load.py FOLDER`: the server under load, one line of JSON a figure; benches/goals/server.py makes rows of them.

Owns: the amounts, and what is measured beside each. Never: judges.
"""

import concurrent.futures
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / folder) for folder in ("", "workshop", "judging", "soaking")]

import crafted
from client import Client
from served import Server

UPLOADS, UPLOAD_BYTES = 50, 20_000_000
FEW, MANY = 10, int(os.environ.get("SERVER_RECORDINGS") or 10_000)
READ_SECONDS = int(os.environ.get("SERVER_READ_SECONDS") or 60)
ROUNDS = 51
SEARCHES = {
    "list": {},
    "search by program": {"q": "program:job_7777"},
    "search by tag": {"q": "tag:day-7"},
    "search by host": {"q": "host:build-7"},
    "search by the beginning of a host": {"q": "host:build-7*"},
    "search by function": {"q": "function:work"},
    "search by time": {"q": "since:yesterday"},
    "search that finds nothing": {"q": "program:job_7 tag:none"},
}
HOSTS = 97
READS = """
local paths = {%s}
local at = 0
request = function()
  at = at + 1
  return wrk.format("GET", paths[at %% #paths + 1])
end
done = function(summary, latency)
  local errors = summary.errors
  print(string.format("figures %%d %%d %%d %%f", summary.requests, summary.duration, errors.status + errors.connect + errors.read + errors.write + errors.timeout, latency:percentile(99)))
end
"""


def main() -> None:
    folder = Path(sys.argv[1])
    server = Server(folder / "server").start()
    try:
        for measure in (uploads, lists, reads):
            measure(server, folder)
    finally:
        server.end()


def tell(figure: str, **values: float) -> None:
    print(json.dumps({"figure": figure, **values}), flush=True)


def uploads(server: Server, folder: Path) -> None:
    recordings = [crafted.Crafted(seed=number).padded(UPLOAD_BYTES) for number in range(UPLOADS)]
    # The yardstick: as many threads that write the same bytes into files, each synced.
    plain = folder / "plain"
    plain.mkdir()

    def write(number: int) -> None:
        with (plain / str(number)).open("wb") as file:
            file.write(recordings[number])
            os.fsync(file.fileno())

    plain_s = at_once(write)
    shutil.rmtree(plain)
    client = server.client()
    seconds = at_once(lambda number: client.push(recordings[number], f"large-{number}.genba"))
    tell("uploads", seconds=seconds, plain_seconds=plain_s, megabytes=sum(map(len, recordings)) / 1e6)
    for one in client.recordings():
        client.ask("DELETE", f"/api/recordings/{one['id']}").expect(204)


def at_once(work: Callable[[int], object]) -> float:
    before = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(UPLOADS) as pool:
        list(pool.map(work, range(UPLOADS)))
    return time.perf_counter() - before


def lists(server: Server, _folder: Path) -> None:
    client = server.client()
    push = lambda number: client.push(crafted.unique(number), f"{number}.genba", tags=(f"day-{number % 31}",), host=f"build-{number % HOSTS}")
    for number in range(FEW):
        push(number)
    few_ms = page_ms(client, {})
    before = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(push, range(FEW, MANY)))
    tell("pushes", seconds=time.perf_counter() - before, count=MANY - FEW)
    for name, query in SEARCHES.items():
        tell(name, count=MANY, milliseconds=page_ms(client, query), few_milliseconds=few_ms)


def page_ms(client: Client, query: dict[str, str]) -> float:
    times = []
    for _ in range(ROUNDS):
        before = time.perf_counter()
        client.get("/api/recordings", query={"limit": str(FEW), **query}).expect(200)
        times.append((time.perf_counter() - before) * 1e3)
    return statistics.median(times)


def reads(server: Server, folder: Path) -> None:
    ids = [one["id"] for one in server.client().get("/api/recordings", query={"limit": "20"}).expect(200).json()["recordings"]]
    paths = ["/api/recordings?limit=10", "/api/recordings?q=tag:day-3", *(f"/api/recordings/{one}{rest}" for one in ids for rest in ("", "/tree", "/rows", "/content")), *(f"/r/{one}" for one in ids)]
    script = folder / "reads.lua"
    script.write_text(READS % ", ".join(f'"{path}"' for path in paths))
    command = ["wrk", "-t", "1", "-c", "16", "-d", f"{READ_SECONDS}s", "--timeout", "10s", "-s", str(script), f"http://127.0.0.1:{server.port}"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"figures (\d+) (\d+) (\d+) ([\d.]+)", said)
    assert found, said
    requests, duration_us, errors, p99_us = (float(one) for one in found.groups())
    tell("reads", per_second=requests / duration_us * 1e6, errors=errors, p99_milliseconds=p99_us / 1e3, seconds=duration_us / 1e6)


if __name__ == "__main__":
    main()
