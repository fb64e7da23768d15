"""Programs of others that load their interpreter after their start: what PyInstaller packs, uWSGI with its plugin for Python, Apache with mod_wsgi."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import uwsgi_server
from compiled import COMPILED
from entered import on
from ports import free_port
from profile_tables import RUNNING
from recording import Place, Run, Workshop, binary
from running_program import until
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


MODULES = Path("/usr/lib/apache2/modules")
CONFIGURATION = """
ServerRoot "{folder}"
ServerName localhost
Listen 127.0.0.1:{port}
PidFile httpd.pid
ErrorLog error.log
DefaultRuntimeDir "{folder}"
LoadModule mpm_{mpm}_module {modules}/mod_mpm_{mpm}.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule wsgi_module {modules}/mod_wsgi.so
StartServers 1
ServerLimit 1
WSGISocketPrefix "{folder}/wsgi"
WSGIScriptAlias / "{folder}/served.py"{group}
<Directory "{folder}">
Require all granted
</Directory>
"""
EMBEDDED = {"mpm": "prefork", "group": "\nMaxRequestWorkers 1"}
OF_ITS_OWN = {"mpm": "event", "group": ' process-group=served\nThreadsPerChild 2\nMaxRequestWorkers 2\nWSGIDaemonProcess served threads=1 home="{folder}"'}
# How Apache runs, what of its configuration that needs, and the signal that ends it: `-X` knows no graceful stop.
KINDS = {
    "one process": ("-X", EMBEDDED, signal.SIGTERM),
    "a worker": ("-DFOREGROUND", EMBEDDED, signal.SIGWINCH),
    "a daemon process": ("-DFOREGROUND", OF_ITS_OWN, signal.SIGWINCH),
}


@pytest.fixture
def of_nobody(workshop: Workshop) -> Iterator[Workshop]:
    """A workshop that nobody can enter, with a genba: Apache answers no requests as root. Pytest closes its own folder to all others."""
    if shutil.which("apache2") is None or not (MODULES / "mod_wsgi.so").exists():
        pytest.skip("no apache2-bin with libapache2-mod-wsgi-py3 (make prepare, as root)")
    folder = Path(tempfile.mkdtemp(prefix="genba-apache-"))
    genba = shutil.copy2(binary(), folder / "genba")
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    yield Workshop(Place(workshop.interpreter, folder, str(folder), str(genba), workshop.place.repository_inside, "cache"))
    shutil.rmtree(folder)


def apache(of_nobody: Workshop, kind: str) -> tuple[str, list[str]]:
    """Its address, and the command."""
    address = f"127.0.0.1:{free_port()}"
    how, words, _ = KINDS[kind]
    folder = of_nobody.place.inside
    filled = {"folder": folder, "port": address.rpartition(":")[2], "modules": MODULES, **words}
    filled["group"] = words["group"].format(folder=folder)
    of_nobody.write("served.py", SERVED)
    return address, ["apache2", "-f", of_nobody.write("httpd.conf", CONFIGURATION.format(**filled)), how]


def ended_after_answers(of_nobody: Workshop, process: subprocess.Popen, address: str, kind: str) -> Run:
    folder = of_nobody.place.outside
    try:
        # Written once it listens.
        assert until((folder / "httpd.pid").exists), (folder / "error.log").read_text()
        for _ in range(REQUESTS):
            with urllib.request.urlopen(f"http://{address}", timeout=30) as answer:
                assert answer.read() == b"done"
        os.kill(int((folder / "httpd.pid").read_text()), KINDS[kind][2])
        return of_nobody.finish(process, "served.genba")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def its_python_is_seen(run: Run, kind: str) -> None:
    # Apache kills a process of mod_wsgi's that does not end within its time, also without genba.
    run.check_laws(may_be_unfinished=kind == "a daemon process")
    profile = run.profile()
    for function in ("answers", "loads"):
        seen = profile.sum("samples", lambda row, name=function: row.state in RUNNING and name in row.names())
        assert seen >= REQUESTS, (function, run.stderr, run.report())


@on("3.13")
@pytest.mark.parametrize("kind", KINDS)
def test_mod_wsgi(of_nobody: Workshop, kind: str) -> None:
    """Its Python is Debian's, and runs the application in an interpreter of its own, beside the first one."""
    folder = of_nobody.place.outside
    address, target = apache(of_nobody, kind)
    as_nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
    command = [*as_nobody, of_nobody.place.genba_inside, "run", "--rate", "1000", "-o", "served.genba", *target]
    process = subprocess.Popen(
        command, cwd=folder, env=of_nobody.place.environment({}), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )
    its_python_is_seen(ended_after_answers(of_nobody, process, address, kind), kind)


@on("3.13")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root's Apache becomes another user")
@pytest.mark.parametrize("kind", ["a worker", "a daemon process"])
def test_mod_wsgi_as_another_user(of_nobody: Workshop, kind: str) -> None:
    """The process becomes another user before its Python begins, and that one may not open root's recording."""
    address, target = apache(of_nobody, kind)
    with (of_nobody.place.outside / "httpd.conf").open("a") as more:
        more.write("User nobody\nGroup nogroup\n")
    process = of_nobody.start(target, ["--rate", "1000", "-o", "served.genba"], {}, start_new_session=True)
    run = ended_after_answers(of_nobody, process, address, kind)
    its_python_is_seen(run, kind)
    assert "recording out of reach" not in run.stderr, run.stderr
