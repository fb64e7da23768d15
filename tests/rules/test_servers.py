"""A program for each kind of server that people have. It waits for its next request for most of its time; what it did is judged all the same, and its
handler is the first row of the report.

Owns: those programs, and clients that pause between their requests, in processes of their own. A server whose package is not there is skipped.
"""

import contextlib
import os
import signal
import subprocess
from dataclasses import dataclass

import pytest

from compiled import package_folder
from entered import on
from ports import free_port
from recording import REPOSITORY, Workshop

pytestmark = pytest.mark.measures

TOOLS = "build/tools/site-packages"
# A request takes 20 ms of CPU.
PRICES = """
import json, sys, time

def prices():
    until = time.thread_time() + 0.02
    while time.thread_time() < until:
        json.dumps(list(range(200)))
    return b"done"

"""
# Most of the time nobody asks.
CLIENT = """
import sys, time, urllib.request
left, until = 40, time.monotonic() + 60
while left:
    try:
        left -= urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/", timeout=30).read() == b"done"
    except OSError:
        assert time.monotonic() < until, "no server came up"
    time.sleep(0.05)
"""
CLIENT_OF_GRPC = """
import grpc, sys, time
channel = grpc.insecure_channel(f"127.0.0.1:{sys.argv[1]}")
grpc.channel_ready_future(channel).result(timeout=60)
for _ in range(40):
    assert channel.unary_unary("/shop.Shop/prices")(b"") == b"done"
    time.sleep(0.05)
"""
WSGI = PRICES + """
def app(environ, start_response):
    start_response("200 OK", [])
    return [prices()]
"""


@dataclass(frozen=True)
class Server:
    """`app.py`, the words behind the interpreter, and the packages that both need."""

    text: str
    words: tuple[str, ...] = ("app.py", "PORT")
    needs: tuple[str, ...] = ()
    client: str = CLIENT


def gunicorn(*words: str, needs: tuple[str, ...] = ()) -> Server:
    return Server(WSGI, ("-m", "gunicorn", "-b", "127.0.0.1:PORT", *words, "app:app"), ("gunicorn", *needs))


def uvicorn(*words: str) -> Server:
    return Server(PRICES + """
async def app(scope, receive, send):
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": prices()})
""", ("-m", "uvicorn", "--lifespan", "off", *words, "--port", "PORT", "app:app"), ("uvicorn",))


def flask(words: str = "") -> Server:
    return Server("from flask import Flask\n" + PRICES + f"""
app = Flask(__name__)

@app.get("/")
def index():
    return prices()

app.run(port=int(sys.argv[1]){words})
""", needs=("flask",))


SERVERS = {
    "http.server": Server(PRICES + """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(prices())

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""),
    "socketserver": Server(PRICES + """
import socketserver

class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.readline().strip():
            pass
        self.wfile.write(b"HTTP/1.0 200 OK\\r\\n\\r\\n" + prices())

socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""),
    "selectors": Server(PRICES + """
import selectors, socket

server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
selector = selectors.DefaultSelector()
selector.register(server, selectors.EVENT_READ)
while selector.select():
    connection = server.accept()[0]
    connection.recv(65536)
    connection.sendall(b"HTTP/1.0 200 OK\\r\\n\\r\\n" + prices())
    connection.close()
"""),
    "gunicorn": gunicorn("-w", "2"),
    "gunicorn with threads": gunicorn("--threads", "4"),
    "gunicorn with gevent": gunicorn("-k", "gevent", needs=("gevent",)),
    "uvicorn": uvicorn(),
    "uvicorn with workers": uvicorn("--workers", "2"),
    "uvicorn that reloads": uvicorn("--reload"),
    "Flask": flask(),
    # Its parent waits for it, as Django's does.
    "Flask that reloads": flask(", debug=True"),
    # Its own settings take the place of a project.
    "Django": Server("from django.conf import settings\nfrom django.core.management import execute_from_command_line\n"
                     "from django.http import HttpResponse\nfrom django.urls import path\n" + PRICES + """
settings.configure(DEBUG=True, ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="none")

def index(request):
    return HttpResponse(prices())

urlpatterns = [path("", index)]
execute_from_command_line([sys.argv[0], "runserver", f"127.0.0.1:{sys.argv[1]}"])
""", needs=("django",)),
    "aiohttp": Server("from aiohttp import web\n" + PRICES + """
async def index(request):
    return web.Response(body=prices())

app = web.Application()
app.router.add_get("/", index)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]))
""", needs=("aiohttp",)),
    "grpc": Server("import grpc\n" + PRICES + """
from concurrent.futures import ThreadPoolExecutor

def answer(request, context):
    return prices()

server = grpc.server(ThreadPoolExecutor(4))
methods = {"prices": grpc.unary_unary_rpc_method_handler(answer)}
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("shop.Shop", methods),))
server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
server.start()
server.wait_for_termination()
""", needs=("grpc",), client=CLIENT_OF_GRPC),
}


def packages(workshop: Workshop, needs: tuple[str, ...]) -> str:
    """For PYTHONPATH: pure packages are in one folder, compiled ones in one for each CPython."""
    folders = [workshop.program(TOOLS) if (REPOSITORY / TOOLS / name).exists() else package_folder(workshop, name) for name in needs]
    return ":".join(dict.fromkeys(folders))


# The others have no aiohttp and no grpc; what is judged is a recording.
@on("3.13")
@pytest.mark.parametrize("name", SERVERS)
def test_the_handler_is_the_first_row(workshop: Workshop, name: str) -> None:
    server, port = SERVERS[name], str(free_port())
    environment = {"PYTHONPATH": packages(workshop, server.needs), "GUNICORN_CMD_ARGS": "--no-control-socket"}
    workshop.write("app.py", server.text)
    # Some are ended by the signal, in the middle of what genba writes of them.
    workshop.may_be_unfinished = True
    words = [word.replace("PORT", port) for word in server.words]
    process = workshop.start(
        [workshop.interpreter.path, *words], ["-o", f"{workshop.place.inside}/served.genba"], environment, start_new_session=True,
    )
    try:
        client = [workshop.interpreter.path, "-c", server.client, port]
        subprocess.run(client, env=workshop.place.environment(environment), check=True, timeout=120)
        process.send_signal(signal.SIGTERM)
        run = workshop.finish(process, "served.genba")
    finally:
        # What it started, too, where the client failed.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    report = run.report_json()
    assert report["verdict"]["name"] not in ("waiting", "start-up", "too short to judge"), run.report()
    assert report["rows"][0]["function"] == "prices", run.report()
