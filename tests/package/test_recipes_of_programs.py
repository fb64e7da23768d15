"""docs/recipes for servers, notebooks, programs that hang and reports without a single cause, followed as they are written, but for the ports and for
how long is recorded. None runs nbconvert or a project of Django's: tests/house/test_pages.py lets the command read those words.
"""

import re
import shlex
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from compiled import package_folder
from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from ports import free_port
from recipes import COMES_UP_SECONDS, TOOLS, block, commands, environment, follow, of_a_run, running, types, watches
from recording import Workshop
from running_program import until

RECORDED_SECONDS = 8
PRICES = "def prices():\n    return str(sum(number % 7 for number in range(100_000))).encode()\n"
APPS = {
    "gunicorn": PRICES + "def app(environ, start_response):\n    start_response('200 OK', [])\n    return [prices()]\n",
    "uvicorn": PRICES
    + "async def app(scope, receive, send):\n    assert scope['type'] == 'http'\n"
    + "    await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n"
    + "    await send({'type': 'http.response.body', 'body': prices()})\n",
}


def ask(port: int, requests: int) -> None:
    deadline = time.monotonic() + COMES_UP_SECONDS
    while requests:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
                requests -= bool(answer.read())
        except OSError:
            assert time.monotonic() < deadline, "no server came up"
            time.sleep(0.05)


@pytest.fixture(autouse=True)
def with_tools() -> None:
    if not (TOOLS / "site-packages/gunicorn").exists():
        pytest.skip("no gunicorn in build/tools/site-packages (make prepare)")


def servers_shell(workshop: Workshop) -> dict[str, str]:
    return environment(workshop, PYTHONPATH=str(TOOLS / "site-packages"), GUNICORN_CMD_ARGS="--no-control-socket")


@pytest.mark.parametrize("server", APPS)
def test_a_server_and_what_it_did(workshop: Workshop, tmp_path: Path, server: str) -> None:
    shell, port = servers_shell(workshop), free_port()
    (tmp_path / "app.py").write_text(APPS[server])
    [command] = [command for command in commands("server") if command.startswith(f"genba run {server} ")]
    assert "8000" in command
    with running(shlex.split(command.replace("8000", str(port))), tmp_path, shell) as process:
        ask(port, 60)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
    readers = [command for command in commands("server") if command.split()[1] in ("report", "lines", "tree")]
    assert len(readers) == 6
    for reader in readers:
        said = types(reader.replace("5s..15s", "0s..15s"), tmp_path, shell)
        assert "app" not in reader or "prices" in said or "number % 7" in said, f"{reader}\n{said}"


def test_a_server_of_which_a_part_is_recorded(workshop: Workshop, tmp_path: Path) -> None:
    port = free_port()
    shell = servers_shell(workshop)
    shell["GUNICORN_CMD_ARGS"] += f" --bind 127.0.0.1:{port}"
    (tmp_path / "app.py").write_text(APPS["gunicorn"])
    [command] = [command for command in commands("server") if command.startswith("genba run --duration 30s ")]
    # A server needs seconds to come up beside other tests; its requests belong into the recording.
    with running(shlex.split(command.replace("30s", f"{RECORDED_SECONDS}s")), tmp_path, shell) as process:
        ask(port, 20)
        # The file can be read while the server runs.
        assert until(lambda: subprocess.run(["genba", "report", "server.genba"], cwd=tmp_path, env=shell, capture_output=True).returncode == 0, every_seconds=0.2)
        tells_all = ["genba", "export", "server.genba", "--to", "json", "-o", "-"]
        assert until(lambda: b"--duration is over" in subprocess.run(tells_all, cwd=tmp_path, env=shell, capture_output=True).stdout, every_seconds=0.5)
        # It goes on without genba's sampling.
        ask(port, 5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0, (tmp_path / "said").read_text()
    assert "prices" in types("genba report --focus prices server.genba", tmp_path, shell)


def test_a_server_that_is_there_already(workshop: Workshop, tmp_path: Path) -> None:
    shell, port = servers_shell(workshop), free_port()
    (tmp_path / "app.py").write_text(APPS["gunicorn"])
    typed = [command for command in commands("server") if of_a_run(command)]
    assert len(typed) == 4

    def is_asked_and_seen(page: str) -> bool:
        ask(port, 1)
        return " prices " in page

    with running(["gunicorn", "-w", "2", "-b", f"127.0.0.1:{port}", "app:app"], tmp_path, shell) as master:
        ask(port, 4)
        said = follow(typed, tmp_path, shell, master.pid)
        assert said["genba dump PID --children"].count("process ") >= 3, said
        watches(typed, tmp_path, shell, master.pid, is_asked_and_seen)
        master.send_signal(signal.SIGTERM)
        assert master.wait(timeout=60) == 0


HANGS = """
import threading
stock, held = threading.Lock(), threading.Event()
def reserve():
    with stock:
        held.set()
        threading.Event().wait()
def count():
    with stock: pass
def computes():
    while True: sum(range(1000))
for does in (reserve, count):
    threading.Thread(target=does, daemon=True).start()
    held.wait()
print("ready", flush=True)
computes()
"""


def test_a_program_that_hangs(workshop: Workshop, tmp_path: Path) -> None:
    shell = environment(workshop)
    (tmp_path / "hangs.py").write_text(HANGS)
    typed = commands("hangs")
    assert len(typed) == 8
    with running(["python3", "hangs.py"], tmp_path, shell) as process:
        assert until(lambda: "ready" in (tmp_path / "said").read_text(), COMES_UP_SECONDS)
        said = follow(typed, tmp_path, shell, process.pid)
        watches(typed, tmp_path, shell, process.pid, " computes ")
    for command in ("genba dump PID --children", "genba dump PID --locals", "genba dump PID --native"):
        assert all(name in said[command] for name in ("reserve", "count", "computes")), said[command]
    assert "waiting for a threading." in said["genba dump PID --children"]
    assert "computes" in said["genba report"]


WORKER = """
import json, time
def digest(text):
    return sum(ord(letter) * 31 % 7 for letter in text)
def packed(number):
    return json.dumps({"number": number, "text": str(number) * 20})
def in_order(text):
    return "".join(sorted(text))
number, until = 0, time.process_time() + 0.8
while time.process_time() < until:
    for number in range(number, number + 100): digest(in_order(packed(number)))
"""


def test_a_report_without_a_single_cause(workshop: Workshop, tmp_path: Path) -> None:
    shell = environment(workshop)
    (tmp_path / "worker.py").write_text(WORKER)
    typed = commands("no-single-cause")
    assert len(typed) == 7
    types("genba run worker.py", tmp_path, shell)
    said = follow(typed, tmp_path, shell)
    assert "ord(letter)" in said["genba lines --function digest"] and "worker.py" in said["genba report --process worker.py"]


# It runs the cells of a file, one after the other.
CLIENT = """
import sys
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel()
try:
    for cell in open(sys.argv[1]).read().split("# next cell\\n"):
        answer = client.execute_interactive(cell, timeout=240)["content"]
        assert answer["status"] == "ok", "".join(answer["traceback"])
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
"""
WORK = "import time\ndef work():\n    until = time.process_time() + 0.5\n    while time.process_time() < until: sorted(str(n) for n in range(1000))\n"
BUSY = """
import os, pathlib
def collect():
    while not pathlib.Path("stop").exists(): sum(range(1000))
pathlib.Path("kernel").write_text(f"{os.getpid()} ")
collect()
"""


@contextmanager
def notebook(inside: Inside, cells: list[str]) -> Iterator[subprocess.Popen]:
    workshop, place = inside.workshop, inside.workshop.place
    paths = {"PYTHONPATH": f"{inside.environment['PYTHONPATH']}:{package_folder(workshop, 'ipykernel')}", "HOME": place.inside}
    client = [workshop.interpreter.path, workshop.write("client.py", CLIENT), workshop.write("cells.py", "# next cell\n".join(cells))]
    with running(place.command(client), place.outside, place.environment(paths)) as process:
        yield process


def test_a_cell_of_a_notebook(inside: Inside) -> None:
    place = inside.workshop.place
    with notebook(inside, [WORK, block("jupyter", "genba.record")]) as client:
        assert client.wait(timeout=240) == 0, (place.outside / "said").read_text()
    # What the cell prints: the verdict, and rows with their shares.
    said_by_cell = (place.outside / "said").read_text()
    assert re.search(r"^\d+\.\d%  \S", said_by_cell, re.MULTILINE), said_by_cell
    # No browser is opened.
    typed = [command.replace(" --open", "") for command in commands("jupyter") if command.endswith(" cell.genba")]
    assert len(typed) == 3
    said = follow(typed, place.outside, environment(inside.workshop))
    assert "work" in said["genba report cell.genba"]


def test_a_kernel_that_is_busy(inside: Inside) -> None:
    outside = inside.workshop.place.outside
    typed, told = [command for command in commands("jupyter") if of_a_run(command)], outside / "kernel"
    assert len(typed) == 4
    with notebook(inside, [BUSY]) as client:
        try:
            # The number is there in whole.
            assert until(lambda: told.exists() and told.read_text().endswith(" "), 120), (outside / "said").read_text()
            shell, pid = environment(inside.workshop), int(told.read_text())
            said = follow(typed, outside, shell, pid)
            watches(typed, outside, shell, pid, " collect ")
        finally:
            # The kernel has a session of its own, which does not end with the client.
            (outside / "stop").touch()
        assert client.wait(timeout=120) == 0, (outside / "said").read_text()
    assert "collect" in said["genba dump PID"], said
