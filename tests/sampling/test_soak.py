"""A threaded web server under load, for ten minutes (GENBA_SOAK_SECONDS) in `make soak`.

A thread a request: thousands of threads come and go. Memory stays flat, both laws hold, every request is answered, and the size of
the recording is printed.
"""

import http.client
import os
import statistics
import threading
import time

import pytest

from figures import Figure
from recording import Workshop
from soak import SOAK

# Half a million requests, each with a thread of its own: what GROWTH_MAX allows is six bytes for each of them.
SECONDS = float(os.environ.get("GENBA_SOAK_SECONDS", "600"))
CLIENTS = 2
# From the second tenth of the run to the last: what one more run of the tables may take, not a share of every request.
GROWTH_MAX = 0.1
RUNS_ON = "3.13"


def ask(port: int, until: float, counts: list[int]) -> None:
    count = 0
    while time.monotonic() < until:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", f"/{'x' * (count % 50)}")
        answer = connection.getresponse()
        assert answer.status == 200 and len(answer.read()) == int(answer.headers["Content-Length"])
        connection.close()
        count += 1
    counts.append(count)


@pytest.mark.measures
@pytest.mark.skipif(not SOAK, reason="make soak: in a few seconds no memory grows")
@pytest.mark.timeout(0)
def test_a_web_server_under_load(workshop: Workshop, figure: Figure) -> None:
    if workshop.interpreter.name not in (RUNS_ON, os.environ.get("GENBA_SOAK_PYTHON")):
        pytest.skip(f"one version is enough: {RUNS_ON}, or the one that GENBA_SOAK_PYTHON names")
    process = workshop.start(
        [workshop.interpreter.path, workshop.program("tests/programs/web_server.py")],
        ["-o", f"{workshop.place.inside}/server.genba", "--mem"],
        {},
    )
    port = int(process.stdout.readline())
    until, counts = time.monotonic() + SECONDS, []
    clients = [threading.Thread(target=ask, args=[port, until, counts]) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    stop = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    stop.request("GET", "/stop")
    stop.getresponse().read()
    run = workshop.finish(process, "server.genba")
    assert (run.exit_code, run.stdout, len(counts)) == (0, "stopped\n", CLIENTS), run.stderr
    profile = run.profile()
    sizes = [row["bytes"] for row in profile["rss"]]
    tenth = max(1, len(sizes) // 10)
    early, late = statistics.median(sizes[tenth : 2 * tenth]), statistics.median(sizes[-tenth:])
    hours = SECONDS / 3600
    figure("web server: requests answered", sum(counts), "requests")
    figure("web server: resident, second tenth of the run", early / 1e6, "MB")
    figure("web server: resident, last tenth of the run", late / 1e6, "MB", bound=early / 1e6 * (1 + GROWTH_MAX))
    figure("web server: recording an hour", run.recording.stat().st_size / 1e6 / hours, "MB/h")
    assert late <= early * (1 + GROWTH_MAX), (early, late)
