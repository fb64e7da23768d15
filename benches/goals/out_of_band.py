"""What `genba.gc` spares the clients of real servers: a request's time until its answer is there, with collections within it and behind it.

Owns: the servers and the figures. casebook/gc-out-of-band is what they answer with. Both forms of a server run at once and are asked in turns, with a
pause before each request, as clients make it: a request that comes during a collection waits for its end. Settings: OUT_OF_BAND (600 requests each).
"""

import os
import re
import signal
import statistics
import subprocess
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import client
import machine
import ways
from row import Row

REQUESTS = 600
WARM = 20
PAUSE_SECONDS = 0.01
BODY = b"3000"
LISTENING = re.compile(r"(?:Listening at|running on|bound to TCP address)\W+(?:http://)?127\.0\.0\.1:(\d+)")
# Importing out_of_band raises the threshold.
PLAIN = "import gc\nthresholds = gc.get_threshold()\nimport out_of_band\ngc.set_threshold(*thresholds)\nplain = out_of_band.plain\n"
UWSGI = str(ways.REPOSITORY / "tests/programs/uwsgi_alone.py")


def servers(packages_of_uwsgi: Path) -> dict[str, tuple[list[str], str, str, Path]]:
    """Its words, the application with collections within requests and behind them, and what it is found in."""
    tools = ways.REPOSITORY / "build/tools/site-packages"
    gunicorn = ["-m", "gunicorn", "--bind", "127.0.0.1:0", "--no-control-socket"]
    uvicorn = ["-m", "uvicorn", "--port", "0", "--lifespan", "off", "--no-access-log"]
    uwsgi = [UWSGI, "--http-socket", "127.0.0.1:0", "--master", "--processes", "1", "--die-on-term", "--disable-logging", "--wsgi"]
    return {
        "gunicorn": (gunicorn, "slow:application", "fixed:application", tools / "gunicorn"),
        "uvicorn": (uvicorn, "as_it_is:plain", "out_of_band:moved", tools / "uvicorn"),
        "uWSGI": (uwsgi, "slow", "behind_uwsgi", packages_of_uwsgi / "uwsgidecorators.py"),
    }


def rows(options: Namespace, folder: Path) -> list[Row]:
    requests = int(os.environ.get("OUT_OF_BAND") or REQUESTS)
    compiled = ways.REPOSITORY / "build/compiled" / machine.minor(options.python).split()[-1]
    (folder / "as_it_is.py").write_text(PLAIN)
    found = []
    for name, (words, within, behind, package) in servers(compiled).items():
        if not package.exists():
            print(f"genba.gc with {name}: not run: no {package.relative_to(ways.REPOSITORY)} (make prepare)")
            continue
        with ExitStack() as running:
            ports = [running.enter_context(serving(options, folder, compiled, [*words, form])) for form in (within, behind)]
            found += compared(name, ports, requests)
    return found


@contextmanager
def serving(options: Namespace, folder: Path, compiled: Path, words: list[str]) -> Iterator[int]:
    """The port of a server with one worker."""
    sources = [folder, *(ways.REPOSITORY / part for part in ("python", "casebook/gc-out-of-band", "tests/programs")), compiled]
    path = os.pathsep.join([*map(str, sources), *ways.packages()])
    log = folder / f"{re.sub(r'[^a-z]', '-', words[-1])}.log"
    with log.open("w") as written:
        server = subprocess.Popen(
            [options.python, *words], cwd=folder, env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL, stdout=written, stderr=written, start_new_session=True,
        )
    try:
        yield client.port_in(log, LISTENING)
        server.terminate()
        server.wait(timeout=client.WAIT_SECONDS)
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def compared(name: str, ports: list[int], requests: int) -> list[Row]:
    took_ms: list[list[float]] = [[], []]
    for number in range(WARM + requests):
        for port, took in zip(ports, took_ms):
            time.sleep(PAUSE_SECONDS)
            one_ms = client.asked(port, BODY)
            if number >= WARM:
                took.append(one_ms)
    within, behind = took_ms
    bound = client.slowest(within)
    half = f"half of them {statistics.median(behind):.2f} ms, {statistics.median(within):.2f} ms within"
    slowest = f"the slowest {max(behind):.2f} ms, {max(within):.2f} ms within"
    yardstick = f"{bound:.2f} ms with collections within; {half}; {slowest}; {requests:,} requests each"
    goal = f"genba.gc: 99 % of requests to {name} take at most, collections behind the response"
    return [Row(goal, client.slowest(behind), "ms", bound=bound, yardstick=yardstick, ratio=client.slowest(behind) / bound)]
