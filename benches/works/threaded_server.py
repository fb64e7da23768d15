"""A server with threads and a heap, without children: a SIGCHLD handler counts, and `waitpid(-1)` asks all the time. argv: objects. Each request
renders rows of the heap. Prints its port; at a line on stdin its resident memory, at a second one how much that grew, and whether it saw a child."""

import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROWS_A_REQUEST = 200


class Row:
    __slots__ = ("name", "parts")

    def __init__(self, number: int) -> None:
        self.name, self.parts = str(number), (number,)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        begin = threading.get_native_id() * ROWS_A_REQUEST % (len(rows) - ROWS_A_REQUEST)
        body = json.dumps([(row.name, row.parts) for row in rows[begin : begin + ROWS_A_REQUEST]]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


def waits() -> None:
    while not ended.wait(0.001):
        try:
            children.append(f"waitpid(-1) gave {os.waitpid(-1, os.WNOHANG)}")
        except ChildProcessError:
            pass


def resident_kb() -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def say(**words: object) -> None:
    print(json.dumps(words), flush=True)
    sys.stdin.readline()


rows = [Row(number) for number in range(int(sys.argv[1]) // 4)]
children: list[str] = []
ended = threading.Event()
signal.signal(signal.SIGCHLD, lambda *_: children.append("SIGCHLD"))
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threads = [threading.Thread(target=server.serve_forever), threading.Thread(target=waits)]
for thread in threads:
    thread.start()
say(port=server.server_address[1])
before_kb = resident_kb()
say(resident_kb=before_kb)
ended.set()
server.shutdown()
for thread in threads:
    thread.join()
print(json.dumps({"children": children[:5], "grown_kb": resident_kb() - before_kb}), flush=True)
