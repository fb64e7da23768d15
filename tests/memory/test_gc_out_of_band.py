"""genba.gc and casebook/gc-out-of-band: with real servers the collections leave the requests, as the recorded collections tell.

Owns: which collection ran within a request: one at a line of slow.py, whose `handle` is all that a request does. Never: asserts a duration.
"""

import json
import os
import re
import signal
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import uwsgi_server
from compiled import package_folder
from entered import on
from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from recording import REPOSITORY, Run, Workshop, genba_said

REQUESTS = 30
GUNICORN = ("-m", "gunicorn", "--bind", "127.0.0.1:0", "--no-control-socket")
UVICORN = ("-m", "uvicorn", "--port", "0", "--lifespan", "off")
WRITES_ADDRESS = re.compile(r"(?:Listening at|running on)\W+(?P<address>http://127\.0\.0\.1:\d+)")
# Which process is to be asked to end: the first that says who it is.
WRITES_PID = re.compile(r"\[(\d+)\] \[INFO\] Starting|Started server process \[(\d+)\]")


def collections(run: Run) -> list[dict[str, Any]]:
    found = json.loads(genba_said("gc", run.recording, "--format", "json"))
    assert found["collections_lost"] == 0
    return found["collections"]


def within_requests(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["file"] and Path(row["file"]).name == "slow.py"]


def behind_responses(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["file"] and row["file"].endswith("genba/gc.py") and row["reason"] == "explicit"]


def paths(inside: Inside) -> str:
    workshop = inside.workshop
    if not (REPOSITORY / "build/tools/site-packages/uvicorn").exists():
        pytest.skip("no uvicorn in build/tools/site-packages (make prepare)")
    folders = ("casebook/gc-out-of-band", "tests/programs", "build/tools/site-packages")
    return ":".join([inside.environment["PYTHONPATH"], *map(workshop.program, folders)])


def served(inside: Inside, *command: str) -> Run:
    """REQUESTS requests, one after the other; then the server is asked to end."""
    workshop = inside.workshop
    flags = ["--gc", "-o", f"{workshop.place.inside}/served.genba"]
    process = workshop.start([workshop.interpreter.path, *command], flags, {"PYTHONPATH": paths(inside)})
    try:
        pid, address = said(process)
        for _ in range(REQUESTS):
            with urllib.request.urlopen(address, timeout=30) as answer:
                assert answer.read() == b"3000"
        os.kill(pid, signal.SIGTERM)
        run = workshop.finish(process, "served.genba")
    finally:
        process.kill()
    assert run.exit_code in (0, 128 + signal.SIGTERM), run.stderr
    return run


def said(process) -> tuple[int, str]:
    pid, lines = None, []
    for line in process.stderr:
        lines.append(line)
        if pid is None and (found := WRITES_PID.search(line)):
            pid = int(found[1] or found[2])
        if found := WRITES_ADDRESS.search(line):
            return pid, found["address"]
    raise AssertionError("the server ended without listening:\n" + "".join(lines))


@pytest.mark.parametrize(
    "server", [(*GUNICORN, "slow:application"), (*UVICORN, "out_of_band:plain")], ids=["gunicorn", "uvicorn"]
)
def test_they_run_within_requests(inside: Inside, server: tuple[str, ...]) -> None:
    # Importing out_of_band raises the threshold.
    if "out_of_band:plain" in server:
        inside.workshop.write("as_it_is.py", "import gc, out_of_band\ngc.set_threshold(700)\nplain = out_of_band.plain\n")
        server = (*server[:-1], "--app-dir", inside.workshop.place.inside, "as_it_is:plain")
    rows = collections(served(inside, *server))
    assert len(within_requests(rows)) >= REQUESTS // 2
    assert {row["reason"] for row in within_requests(rows)} <= {"threshold", "unknown"}
    assert behind_responses(rows) == []


@on("3.11", "3.13", "3.15")
@pytest.mark.parametrize(
    "server",
    [(*GUNICORN, "fixed:application"), (*GUNICORN, "--threads", "2", "fixed:application"), (*UVICORN, "out_of_band:moved")],
    ids=["gunicorn", "gunicorn with threads", "uvicorn"],
)
def test_they_run_behind_responses(inside: Inside, server: tuple[str, ...]) -> None:
    rows = collections(served(inside, *server))
    assert within_requests(rows) == []
    behind = behind_responses(rows)
    assert {row["generation"] for row in behind} == {1}
    if "--threads" in server:
        # The next request may be under way: a collection waits for it once, and what it holds grows old.
        assert REQUESTS // 2 <= len(behind) <= REQUESTS
    else:
        # Each request's rows and their table, at least.
        assert len(behind) == REQUESTS and all(row["collected"] >= 3000 for row in behind)


def collections_in_uwsgi(inside: Inside, module: str) -> list[dict[str, Any]]:
    """Of REQUESTS requests to the application of that module."""
    packages = package_folder(inside.workshop, "uwsgidecorators.py")
    workshop = inside.workshop
    target = [workshop.interpreter.path, workshop.program("tests/programs/uwsgi_alone.py"), "--wsgi", module]
    run = uwsgi_server.recorded(workshop, target, ["--gc"], {"PYTHONPATH": f"{paths(inside)}:{packages}"}, REQUESTS, b"3000")
    return collections(run)


@on("3.13")
def test_within_requests_of_uwsgi(inside: Inside) -> None:
    """As it is without its hook."""
    rows = collections_in_uwsgi(inside, "slow")
    assert len(within_requests(rows)) >= REQUESTS // 2 and behind_responses(rows) == []
    assert {row["reason"] for row in within_requests(rows)} <= {"threshold", "unknown"}


@on("3.13")
def test_behind_requests_of_uwsgi(inside: Inside) -> None:
    rows = collections_in_uwsgi(inside, "behind_uwsgi")
    asked = [row for row in rows if row["collected"] >= 3000]
    # The last one may come after the order to end.
    assert within_requests(rows) == [] and REQUESTS - 1 <= len(asked) <= REQUESTS
    # Unwind tables may not be there for the first.
    assert {row["generation"] for row in asked} == {1} and {row["reason"] for row in asked} <= {"explicit", "unknown"}
    assert [row["reason"] for row in asked].count("explicit") >= REQUESTS // 2


# What each case of `options` asks for, from the collector's own callbacks.
COUNTED = """
import asyncio, gc, io, json, sys, threading, wsgiref.handlers
import genba.gc

seen = []
gc.disable()
gc.callbacks.append(lambda phase, info: seen.append(info["generation"]) if phase == "start" else None)
closed = []

class Body:
    def __iter__(self): return iter([b"a", b"b"])
    def close(self): closed.append(len(seen))

def wsgi(environ, start_response):
    if environ.get("fails"):
        raise KeyError("fails")
    return environ["body"]

def ask(app, body, **more):
    response = app({"body": body, **more}, None)
    text = b"".join(response)
    before = len(seen)
    if hasattr(response, "close"):
        response.close()
        response.close()
    return text, len(seen) - before

def every_three(): return [ask(app, [b"x"])[1] for app in [genba.gc.after_response(wsgi, every=3)] for _ in range(9)]

def full():
    seen.clear()
    app = genba.gc.after_response(wsgi, generation=0, full=3)
    for _ in range(6): ask(app, [b"x"])
    return list(seen)

def own_close():
    seen.clear(), closed.clear()
    text, collected = ask(genba.gc.after_response(wsgi), Body())
    return [text.decode(), closed, collected]

def lengths():
    app = genba.gc.after_response(wsgi)
    return [len(app({"body": [b"x", b"y"]}, None)), hasattr(app({"body": iter([b"x"])}, None), "__len__")]

def files():
    class Wrapper:
        def __init__(self, file): self.file = file
        def __iter__(self): return iter([b"file"])
    app = genba.gc.after_response(wsgi)
    body = Wrapper(None)
    more = {"wsgi.file_wrapper": Wrapper}
    is_itself = app({"body": body, **more}, None) is body
    body.close()
    return [is_itself, ask(app, Wrapper(None), **more)[1]]

def failing():
    seen.clear()
    app = genba.gc.after_response(wsgi)
    try: app({"fails": True}, None)
    except KeyError: pass
    # The one that failed keeps no other waiting.
    return [list(seen), ask(app, [b"x"])[1]]

def failing_while_it_is_read():
    def late(environ, start_response):
        yield b"x"
        raise KeyError("late")
    class Never:
        def __iter__(self): raise KeyError("never")
    seen.clear()
    for app in (genba.gc.after_response(late, interface="wsgi"), genba.gc.after_response(lambda *call: Never())):
        response = app({}, None)
        try: list(response)
        except KeyError: response.close()
    # wsgiref closes the response before it sends its own.
    sent = []
    failing = genba.gc.after_response(late, interface="wsgi")
    class Handler(wsgiref.handlers.SimpleHandler):
        def start_response(self, *call): return self.write
        def log_exception(self, error): pass
        def error_output(self, environ, start_response):
            sent.append(len(seen))
            return [b"no"]
        def write(self, data): pass
        def finish_content(self): pass
    Handler(io.BytesIO(), io.BytesIO(), io.StringIO(), {}).run(failing)
    one = genba.gc.after_response(wsgi)
    return [list(seen), sent, ask(one, [b"x"])[1]]

def one_waits_for_another():
    app = genba.gc.after_response(wsgi, every=2)
    open_one = app({"body": [b"x"]}, None)
    first = [ask(app, [b"x"])[1] for _ in range(5)]
    open_one.close()
    return first

def asynchronous():
    order = []
    async def app(scope, receive, send):
        await send("body")
        order.append("app ends")
    async def send(message): order.append([message, len(seen)])
    seen.clear()
    moved = genba.gc.after_response(app)
    for kind in ("lifespan", "http", "websocket"):
        asyncio.run(moved({"type": kind}, None, send))
        order.append([kind, seen.count(1)])
    return order

def threads():
    # Calls: one that comes while another thread collects, or is in a callback of it, does nothing.
    called, collect = [], gc.collect
    gc.collect = lambda generation: (called.append(generation), collect(generation))[1]
    app = genba.gc.after_response(wsgi, every=5)
    every = [threading.Thread(target=lambda: [ask(app, [b"x"]) for _ in range(500)]) for _ in range(4)]
    for thread in every: thread.start()
    for thread in every: thread.join()
    gc.collect = collect
    return len(called)

def thresholds():
    found = []
    for now, asked in [(700, 5000), (9000, 5000), (700, None), (700, 0), (0, 5000)]:
        gc.set_threshold(now, 11, 12)
        genba.gc.after_response(wsgi, threshold=asked)
        found.append(list(gc.get_threshold())[:2])
    return found

def refused():
    words = []
    for options in ({"every": 0}, {"generation": 3}, {"full": -1}, {"threshold": -1}, {"interface": "cgi"}):
        try: genba.gc.after_response(wsgi, **options)
        except ValueError as failure: words.append(str(failure).partition(" is ")[0])
    try: genba.gc.after_uwsgi_request()
    except RuntimeError as failure: words.append(str(failure).partition(":")[0])
    return words

cases = [every_three, full, own_close, lengths, files, failing, failing_while_it_is_read, one_waits_for_another, asynchronous, threads, thresholds, refused]
print(json.dumps({case.__name__: case() for case in cases}))
"""


def test_options(inside: Inside) -> None:
    done = inside.run([inside.workshop.interpreter.path, inside.workshop.write("counted.py", COUNTED)])
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["every_three"] == [0, 0, 1] * 3
    assert said["full"] == [0, 0, 2, 0, 0, 2]
    assert said["own_close"] == ["ab", [0], 1], "the response's own close comes first, both once"
    assert said["lengths"] == [2, False]
    assert said["files"] == [True, 1]
    assert said["failing"] == [[], 1]
    assert said["failing_while_it_is_read"] == [[], [0], 1], "none before the server's own answer, nor later"
    assert said["one_waits_for_another"] == [0, 0, 0, 1, 0], "at most for as many more"
    assert said["asynchronous"] == [["body", 0], "app ends", ["lifespan", 0], ["body", 0], "app ends", ["http", 1], ["body", 1], "app ends", ["websocket", 1]]
    # 2,000 responses. While others are under way it may wait for five more. A thread that loses the GIL between the question and the note
    # calls once more, each 5 ms at most.
    assert 200 <= said["threads"] <= 500
    assert [first for first, _ in said["thresholds"]] == [5000, 9000, 700, 0, 0] and {second for _, second in said["thresholds"]} == {11}
    assert said["refused"] == ["every", "generation", "full", "threshold", "interface", "this process is not uWSGI's"]


def test_the_fixed_program_alone(inside: Inside) -> None:
    """As the page says; the slow one beside it."""
    program = inside.workshop.program
    slow = collections(inside.workshop.run(program("casebook/gc-out-of-band/slow.py"), "60", flags=("--gc",)))
    fixed = collections(
        inside.workshop.run(program("casebook/gc-out-of-band/fixed.py"), "60", flags=("--gc",), environment=inside.environment)
    )
    assert len(within_requests(slow)) >= 30 and within_requests(fixed) == []
    # Recording begins while the first requests are answered.
    assert 50 <= len(behind_responses(fixed)) <= 60
