"""Ten programs that people use: what each says and leaves, and its exit code, are the same without genba. Each runs in one of the ways in which
profilers were reported to harm programs: as a pool of processes, below a launcher, with a server's signals, with closed streams, in odd folders.

Owns: those programs, and what of their words may differ from run to run. Celery, notebooks and pytest's fixture have tests of their own
(tests/package).
"""

import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from both_ways import words_of
from recording import REPOSITORY, RUN_SECONDS_MAX, Workshop
from running_program import until

SITE_PACKAGES = "build/tools/site-packages"
# As long as a server may need to come up beside other tests.
COMES_UP_SECONDS = 120
LONG_FOLDER = "/".join(["📁 Проекты", *["очень длинное имя папки, какие бывают в архивах"] * 6])


@dataclass(frozen=True)
class Server:
    """One that runs until it is asked to end; what it says goes into a file."""

    process: subprocess.Popen
    said: Path

    def sees(self, words: str, count: int = 1) -> None:
        assert until(lambda: self.said.read_text().count(words) >= count, COMES_UP_SECONDS), (words, count, self.said.read_text())

    def address(self) -> str:
        def found() -> re.Match | None:
            return re.search(r"http://127\.0\.0\.1:\d+", self.said.read_text())

        assert until(found, COMES_UP_SECONDS), self.said.read_text()
        return found()[0]

    def is_answered_by_another(self, known: set[str]) -> None:
        """The programs answer with their process's number; the one that was not known yet is added."""
        address, deadline = self.address(), time.monotonic() + COMES_UP_SECONDS
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(address, timeout=30) as answer:
                    who = answer.read().decode()
            except OSError:
                # A worker that ends closes the connections that it has not taken.
                continue
            if who not in known:
                known.add(who)
                return
        raise AssertionError(f"no other than {known} answered:\n{self.said.read_text()}")


@dataclass(frozen=True)
class Program:
    # PYTHON is the interpreter.
    command: tuple[str, ...]
    files: dict[str, str]
    exit_code: int = 0
    # Recorded at the very least.
    processes: int = 1
    # What it leaves and what is compared, by pattern.
    leaves: tuple[str, ...] = ()
    folder: str = "."
    environment: dict[str, str] = field(default_factory=dict)
    # Until it ends; and of a server's words those that do not depend on who is faster.
    drive: Callable[[Server], None] | None = None
    told: tuple[str, ...] = ()


TEST_ODD = '''
import subprocess, sys
import pytest

@pytest.mark.parametrize("text", ["http://example.com/a?b", "../up", "двадцать 🎉", "x" * 300])
def test_one(text):
    assert sum(map(ord, text * 3000)) > 0

@pytest.mark.parametrize("number", range(8))
def test_child(number):
    assert subprocess.run([sys.executable, "-c", f"raise SystemExit({number})"]).returncode == number

def test_wrong(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert sum(range(10)) == 44

@pytest.mark.skip(reason="not today")
def test_skipped():
    pass
'''
SETTINGS = """
SECRET_KEY = "none"
USE_TZ = True
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
"""
TEST_SHOP = '''
import unittest
from django.db import connection
from django.test import TestCase

class Counted(TestCase):
    def test_total(self):
        with connection.cursor() as cursor:
            cursor.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT sum(i) FROM n")
            self.assertEqual(cursor.fetchone(), (20000100000,))

class Better(TestCase):
    @unittest.expectedFailure
    def test_mended(self):
        self.assertEqual(sum(range(1000)), 499500)
'''
# It is started again when its file gets another time, and ends by itself the third time.
RELOADED = """
import os, pathlib, time
import flask
from werkzeug._reloader import run_with_reloader

app, turns = flask.Flask(__name__), pathlib.Path("turns")

@app.get("/")
def index():
    return f"turn {turns.read_text()}"

def main():
    with turns.open("a") as file: file.write("x")
    print(app.test_client().get("/").text, flush=True)
    count = len(turns.read_text())
    if count == 3: os._exit(7)
    os.utime(__file__, (time.time() + 100 * count,) * 2)

run_with_reloader(main, interval=0.05, reloader_type="stat")
"""
WSGI = "import os\ndef app(environ, start_response):\n    start_response('200 OK', [])\n    return [str(os.getpid()).encode()]\n"
ASGI = """
import os
async def app(scope, receive, send):
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"connection", b"close")]})
    await send({"type": "http.response.body", "body": str(os.getpid()).encode()})
"""
TEXT = "def function(argument):\n    return [number for number in range(argument) if number % 7]\n" * 200
CLOSES = """
PYTHON -m pygments -l python -f html -o in.html text.py <&-; echo $?
PYTHON -m pygments -l python -f html -o err.html text.py 2>&-; echo $?
PYTHON -m pygments -l python -f html -o all.html text.py <&- >&- 2>&-; echo $?
PYTHON -m pygments -l python -f html text.py >&-; echo $?
PYTHON -m pygments -l nothing text.py 2>&-; echo $?
"""
TEMPLATE = "{% for row in rows %}{{ row|upper }} {{ loop.index * 7 }}\n{% endfor %}"
RENDERS = """
import jinja2
templates = jinja2.Environment(loader=jinja2.FileSystemLoader("."))
text = templates.get_template("page.txt").render(rows=["строка"] * 3000)
print(len(text), ascii(text[-30:]))
templates.get_template("broken.txt").render(rows=[])
"""
REMOVED = """
import http.server, os, threading
import requests

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.path.encode() * 100)
    def log_message(self, *words): pass

os.mkdir("gone")
os.chdir("gone")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, name="serves").start()
os.rmdir("../gone")
with requests.Session() as session:
    session.trust_env = False
    print(sum(len(session.get(f"http://127.0.0.1:{server.server_port}/{number:04}").content) for number in range(100)))
server.shutdown()
try: print(os.getcwd())
except FileNotFoundError as error: raise SystemExit(str(error))
"""


def drive_gunicorn(server: Server) -> None:
    """By its manual: one worker more, one less, all anew, the end. Each is waited for: a worker that just begins may miss a signal."""
    known: set[str] = set()
    server.is_answered_by_another(known)
    server.process.send_signal(signal.SIGTTIN)
    server.is_answered_by_another(known)
    server.process.send_signal(signal.SIGTTOU)
    server.sees("Worker exiting", 1)
    server.process.send_signal(signal.SIGHUP)
    server.is_answered_by_another(known)
    server.sees("Worker exiting", 2)
    server.process.send_signal(signal.SIGTERM)


def drive_uvicorn(server: Server) -> None:
    known: set[str] = set()
    for _ in range(2):
        server.is_answered_by_another(known)
    server.process.send_signal(signal.SIGTTIN)
    server.is_answered_by_another(known)
    server.process.send_signal(signal.SIGHUP)
    for _ in range(3):
        server.is_answered_by_another(known)
    server.sees("Started server process", 6)
    server.process.send_signal(signal.SIGTERM)


PROGRAMS = {
    "pytest": Program(
        ("PYTHON", "-m", "pytest", "-n", "2", "-q", "-p", "no:cacheprovider", "--basetemp=base", "--tb=short", "-rA", "test_odd.py"),
        {"test_odd.py": TEST_ODD}, exit_code=1, processes=3,
    ),
    "Flask": Program(("PYTHON", "app.py"), {"app.py": RELOADED}, exit_code=7, processes=4, leaves=("turns",)),
    "Django": Program(
        ("PYTHON", "-m", "django", "test", "--settings", "settings", "--parallel", "2"),
        {"settings.py": SETTINGS, "test_shop.py": TEST_SHOP}, exit_code=1, processes=3,
    ),
    "gunicorn": Program(
        ("PYTHON", "-m", "gunicorn", "--no-control-socket", "--threads", "2", "--bind", "127.0.0.1:0", "app:app"),
        {"app.py": WSGI}, processes=4, drive=drive_gunicorn,
        told=("Listening at", "Booting worker", "Worker exiting", "Handling signal", "Hang up", "Shutting down"),
    ),
    "uvicorn": Program(
        ("PYTHON", "-m", "uvicorn", "--workers", "2", "--port", "0", "--timeout-worker-healthcheck", "60", "app:app"),
        {"app.py": ASGI}, processes=7, drive=drive_uvicorn,
        told=("Started parent", "Started server process", "Received SIG", "Stopping parent", "Uvicorn running"),
    ),
    "Pygments": Program(("sh", "closes.sh"), {"closes.sh": CLOSES, "text.py": TEXT}, processes=5, leaves=("*.html",)),
    "sqlparse": Program(
        ("sh", "-c", "printf '%s\\n' 1.sql 2.sql none.sql 3.sql | env -u HOME xargs -P 2 -I + PYTHON -m sqlparse --reindent -o +.out +"),
        {f"{name}.sql": "select a, b from c where d in (select e from f) order by g; " * 60 for name in "123"},
        exit_code=123, processes=4, leaves=("*.out",),
    ),
    "Jinja": Program(
        ("PYTHON", "renders.py"), {"renders.py": RENDERS, "page.txt": TEMPLATE, "broken.txt": TEMPLATE + "{% endif %}"},
        exit_code=1, folder=LONG_FOLDER, environment={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    ),
    "charset_normalizer": Program(
        ("PYTHON", "-X", "perf", "-m", "charset_normalizer", "--minimal", "some.txt", "text.py"),
        {"some.txt": "Съешь ещё этих мягких французских булок, да выпей чаю. " * 50, "text.py": TEXT},
    ),
    "requests": Program(("PYTHON", "removed.py"), {"removed.py": REMOVED}, exit_code=1),
}


@dataclass(frozen=True)
class Outcome:
    exit_code: int
    words: list[str]
    left: dict[str, bytes]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_real_program_does_what_it_does_alone(workshop: Workshop, name: str) -> None:
    if not (REPOSITORY / SITE_PACKAGES / "uvicorn").exists():
        pytest.skip("no programs in build/tools/site-packages (make prepare)")
    minor = workshop.interpreter.minor_number
    if workshop.interpreter.root is not None:
        pytest.skip("the Debian sid folder has CPythons that are newer than these releases")
    if (name == "Django" and minor > 13) or (name == "charset_normalizer" and minor < 12):
        pytest.skip("Django's tests run side by side up to 3.13, trampolines came with CPython 3.12")
    program = PROGRAMS[name]
    alone, beside = (run_program(workshop, program, way) for way in ("alone", "genba"))
    assert beside == alone
    assert alone.exit_code == program.exit_code and alone.words and bool(alone.left) == bool(program.leaves), alone
    recording = workshop.runs[-1]
    assert len(recording.profile()["processes"]) >= program.processes, recording.check().stdout
    assert recording.report_json()["not_followed"] == []


def run_program(workshop: Workshop, program: Program, way: str) -> Outcome:
    """In a folder of its own, so that neither finds what the other one left."""
    place = workshop.place
    outside = place.outside / way / program.folder
    outside.mkdir(parents=True)
    for file, text in program.files.items():
        (outside / file).write_text(text)
    target = ["/usr/bin/env", f"--chdir={place.inside}/{way}/{program.folder}", *interpreted(workshop, outside, program)]
    paths = {"PYTHONPATH": workshop.program(SITE_PACKAGES), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200", **program.environment}
    said = place.outside / f"{way}.said"
    with said.open("w") as words:
        streams = {"stdin": subprocess.DEVNULL, "stdout": words, "stderr": subprocess.STDOUT}
        if way == "genba":
            process = workshop.start(target, ["--quiet", "-o", f"{place.inside}/real.genba"], paths, **streams)
        else:
            process = subprocess.Popen(place.command(target), cwd=place.outside, env=place.environment(paths), **streams)
    try:
        if program.drive:
            program.drive(Server(process, said))
        if way == "genba":
            workshop.finish(process, "real.genba")
        process.wait(timeout=RUN_SECONDS_MAX)
    finally:
        process.kill()
    left = {str(path.relative_to(outside)): path.read_bytes() for pattern in program.leaves for path in outside.glob(pattern)}
    return Outcome(process.returncode, steady(words_of(said.read_text()), f"{place.inside}/{way}", program.told), left)


def interpreted(workshop: Workshop, outside: Path, program: Program) -> list[str]:
    """The command, and the scripts, with the interpreter's path."""
    python = workshop.interpreter.path
    for script in outside.glob("*.sh"):
        script.write_text(script.read_text().replace("PYTHON", python))
    return [word.replace("PYTHON", python) for word in program.command]


def steady(said: str, here: str, told: tuple[str, ...]) -> list[str]:
    """The lines without what differs from run to run: their order, numbers of processes and ports, times, which worker ran a test."""
    said = said.replace(here, "HERE")
    said = re.sub(r"\d+\.\d+s", "0.0s", said)
    said = re.sub(r"\bgw\d\b", "gw", said)
    said = re.sub(r"^\[\d{4}-.*?\] ", "", said, flags=re.MULTILINE)
    said = re.sub(r"\[\d+\]|\(\d+\)|pid: \d+|(?<=127\.0\.0\.1:)\d+", "NUMBER", said)
    said = re.sub(r"^bringing up nodes.*\n", "", said, flags=re.MULTILINE)
    said = re.sub(r"^([.FsEux]+)( +\[ *\d+%\])?$", lambda progress: "".join(sorted(progress[1])), said, flags=re.MULTILINE)
    return sorted(line for line in said.splitlines() if not told or any(word in line for word in told))
