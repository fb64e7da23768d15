"""Programs of others that load their interpreter after their start: what PyInstaller packs, and uWSGI with its plugin for Python."""

import shutil
import subprocess
from pathlib import Path

import pytest

import uwsgi_server
from compiled import COMPILED
from entered import on
from profile_tables import RUNNING
from recording import Workshop
from test_loaded_later import libpython

PACKED = """
import json, sys, threading, time

def in_a_thread():
    while time.thread_time() < 0.2: json.dumps(list(range(200)))

def spins():
    while time.thread_time() < 0.5: sum(range(1000))

thread = threading.Thread(target=in_a_thread)
thread.start(); spins(); thread.join()
print(*sys.argv[1:])
sys.exit(3)
"""


def packed(workshop: Workshop, how: str) -> str:
    """The program as PyInstaller makes it, by the very CPython that it packs."""
    if not (COMPILED / "pyinstaller/PyInstaller").exists():
        pytest.skip("no PyInstaller in build/compiled (make prepare)")
    # It packs no interpreter without one.
    libpython(workshop)
    folder = workshop.place.outside
    command = [workshop.interpreter.path, "-m", "PyInstaller", how, "--noconfirm", "--log-level", "ERROR", "--name", "packed"]
    command += ["--distpath", "made", "--workpath", "work", "--specpath", "work", workshop.write("packs.py", PACKED)]
    environment = workshop.place.environment({"PYTHONPATH": str(COMPILED / "pyinstaller"), "PYINSTALLER_CONFIG_DIR": str(folder / "config")})
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return str(folder / ("made/packed/packed" if how == "--onedir" else "made/packed"))


@on("3.11", "3.13")
@pytest.mark.parametrize("how", ["--onedir", "--onefile"])
def test_what_pyinstaller_packs(workshop: Workshop, how: str) -> None:
    """In one file it unpacks itself first, and a child of its own is the program."""
    program = packed(workshop, how)
    unpacks = {"TMPDIR": workshop.place.inside}
    alone = subprocess.run([program, "a", "b c"], env=workshop.place.environment(unpacks), capture_output=True, text=True, timeout=60)
    assert (alone.returncode, alone.stdout) == (3, "a b c\n"), alone
    run = workshop.run_target([program, "a", "b c"], environment=unpacks)
    assert (run.exit_code, run.stdout) == (3, alone.stdout), run.stderr
    assert not list(workshop.place.outside.glob("_MEI*")), "what it unpacked stays"
    run.check_laws()
    profile = run.profile()
    [process] = profile["processes"]
    assert process["python"].startswith(workshop.interpreter.minor) and not process["refused"], process
    for function in ("spins", "in_a_thread"):
        assert profile.sum("samples", lambda row, function=function: row.state in RUNNING and function in row.names()) > 20, function


# The first extension module that Python imports tells genba that Python is there.
SERVED = """
import ctypes, time

def spend(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: sum(range(1000))

def loads(): spend(0.3)

def answers(): spend(0.02)

def application(environ, start_response):
    answers()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"done"]

loads()
"""
REQUESTS = 20


@on("3.13")
def test_the_plugin_of_uwsgi(workshop: Workshop) -> None:
    """Its Python is Debian's. The application is loaded in the first process, and a child of it answers."""
    plugin = next(Path("/usr/lib/uwsgi/plugins").glob("python3*_plugin.so"), None)
    if shutil.which("uwsgi-core") is None or plugin is None:
        pytest.skip("no uwsgi-core with uwsgi-plugin-python3 (make prepare, as root)")
    target = ["uwsgi-core", "--plugin", plugin.name.removesuffix("_plugin.so"), "--wsgi-file", workshop.write("served.py", SERVED), "--need-app"]
    run = uwsgi_server.recorded(workshop, target, ["--rate", "1000"], {}, REQUESTS, b"done")
    run.check_laws()
    profile = run.profile()
    where = {
        function: {row.process for row in profile.rows() if row.state in RUNNING and function in row.names()}
        for function in ("loads", "answers")
    }
    assert where["loads"] and where["answers"] and not where["loads"] & where["answers"], (where, profile["processes"])
    # 20 ms of work a request, a look every millisecond: at the very least one look a request.
    assert profile.sum("samples", lambda row: row.state in RUNNING and "answers" in row.names()) >= REQUESTS
