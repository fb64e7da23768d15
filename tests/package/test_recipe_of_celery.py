"""docs/recipes/celery.md, followed as it is written, by a real worker of two processes. Its messages are files of a folder, for which no broker is needed."""

import json
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from recipes import COMES_UP_SECONDS, TOOLS, block, commands, environment, follow, of_a_run, running, types, watches
from recording import Workshop, genba_said
from running_program import until

TASKS = """
import os, pathlib, socket
from celery import Celery

app = Celery("tasks", broker="filesystem://")
app.conf.broker_transport_options = {"data_folder_in": "queue", "data_folder_out": "queue", "control_folder": "control"}

@app.task
def total(count):
    text = ""
    for number in range(count):
        text = str(number * 19 % 101) + text
    pathlib.Path(f"total-{count}").touch()

@app.task
def computes(seconds):
    pathlib.Path("computes").write_text(f"{os.getpid()} ")
    while not pathlib.Path("stop").exists(): sum(range(10_000))

@app.task
def send(host, port):
    with socket.create_connection((host, port)) as mail:
        pathlib.Path("sends").write_text(f"{os.getpid()} ")
        return mail.recv(100).decode()
"""
WORKER = "celery -A tasks worker --concurrency 2"


@pytest.fixture(autouse=True)
def with_tools() -> None:
    if not (TOOLS / "site-packages/celery").exists():
        pytest.skip("no celery in build/tools/site-packages (make prepare)")


@pytest.fixture
def shell(workshop: Workshop, tmp_path: Path) -> dict[str, str]:
    for folder in ("queue", "control"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tasks.py").write_text(TASKS)
    # It warns where it runs as root.
    return environment(workshop, PYTHONPATH=str(TOOLS / "site-packages"), PYTHONWARNINGS="ignore")


def sends(task: str, folder: Path, shell: dict[str, str]) -> None:
    subprocess.run(["python3", "-c", f"import tasks; tasks.{task}"], cwd=folder, env=shell, check=True, timeout=60)


@contextmanager
def silent_server() -> Iterator[int]:
    """The port of one that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def ends(process: subprocess.Popen, folder: Path) -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0, (folder / "said").read_text()


def test_a_worker_and_what_it_did(tmp_path: Path, shell: dict[str, str]) -> None:
    [command] = [command for command in commands("celery") if command.startswith("genba run ")]
    assert command.endswith(WORKER)
    with running(shlex.split(command), tmp_path, shell) as process:
        # Longer than from one block to the next: at the end celery kills its processes, which on a busy machine lose what they have not written.
        for count in (100_000, 100_001):
            sends(f"total.delay({count})", tmp_path, shell)
        assert until(lambda: len(list(tmp_path.glob("total-*"))) == 2, COMES_UP_SECONDS), (tmp_path / "said").read_text()
        ends(process, tmp_path)
    rows = json.loads(genba_said("report", "--by", "function", "--limit", "0", "--format", "json", tmp_path / "worker.genba"))["rows"]
    assert "total" in {row["function"] for row in rows}, f"{rows}\n{(tmp_path / 'said').read_text()}"
    readers = [command for command in commands("celery") if " worker.genba" in command and not command.startswith("genba run")]
    assert len(readers) == 4
    said = follow(readers, tmp_path, shell)
    [lines] = [text for command, text in said.items() if command.startswith("genba lines ")]
    assert "str(number * 19 % 101) + text" in lines, lines
    [focused] = [text for command, text in said.items() if command.startswith("genba report --weight cpu --focus")]
    assert " total " in focused, focused


def test_a_worker_that_is_slow_or_hangs(tmp_path: Path, shell: dict[str, str]) -> None:
    typed = [command for command in commands("celery") if of_a_run(command)]
    assert len(typed) == 5
    with silent_server() as port, running(shlex.split(WORKER), tmp_path, shell) as worker:
        sends(f"send.delay('127.0.0.1', {port})", tmp_path, shell)
        sends("computes.delay(60)", tmp_path, shell)
        told = [tmp_path / "sends", tmp_path / "computes"]
        assert until(lambda: all(path.exists() and path.read_text().endswith(" ") for path in told), COMES_UP_SECONDS), (tmp_path / "said").read_text()
        said = follow([command for command in typed if "--locals" not in command], tmp_path, shell, worker.pid)
        pool = said["genba dump PID --children"]
        assert pool.count("process ") >= 3 and "  send " in pool and "  computes " in pool, pool
        assert all(f"  {worker.pid} " in line for line in said["genba ps"].splitlines() if told[0].read_text() in line), said["genba ps"]
        waits = types("genba report --weight wall --focus '/tasks\\.py'", tmp_path, shell)
        assert " send " in waits and "recv" in waits, waits
        [arguments] = [command for command in typed if "--locals" in command]
        said = types(arguments, tmp_path, shell, int(told[0].read_text()))
        assert f"port = {port}" in said, said
        watches(typed, tmp_path, shell, worker.pid, " computes ")
        (tmp_path / "stop").touch()
    assert worker.returncode in (0, -signal.SIGKILL)


def test_one_task_alone(inside: Inside) -> None:
    workshop = inside.workshop
    part = block("celery", "genba.record").replace("    …", "    return sum(number % 7 for number in range(n))")
    program = workshop.write("tasks.py", TASKS + part + "\nfor count in (6_000_000, 6_000_001): total(count)\n")
    paths = {"PYTHONPATH": f"{inside.environment['PYTHONPATH']}:{workshop.program('build/tools/site-packages')}"}
    done = inside.run([workshop.interpreter.path, program], paths)
    assert done.returncode == 0, done.stderr
    for name in ("total.genba", "total-2.genba"):
        assert "return sum(number % 7" in inside.recording(name).report("--by", "line"), name
