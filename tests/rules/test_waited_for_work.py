"""A server that mostly waits for its next request: what it worked is the answer, and the wait is told beside it. The client is a program of its own, which
decides how long the server has nothing to do."""

import json

import pytest

from recording import Workshop, genba

# Where other tests take the CPU, threads wait for that.
pytestmark = pytest.mark.measures

SERVER = """
import json, subprocess, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CLIENT = '''
import sys, time, urllib.request
for _ in range(40):
    urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/").read()
    time.sleep(0.05)
urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/end").read()
'''

def spend(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        json.dumps(list(range(200)))

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        spend(0.006)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if self.path == "/end":
            server.shutdown()
    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
client = subprocess.Popen([sys.executable, "-c", CLIENT, str(server.server_port)])
server.serve_forever(0.02)
client.wait()
"""
SERVE = "server.serve_forever(0.02)"


def test_what_a_server_worked_is_the_answer(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("server.py", SERVER), flags=("--rate", "1000", "--no-children"))
    report = run.report_json()
    waited = report["verdict"]["waited_for_work"]
    assert [place["expression"] for place in waited["places"]] == [SERVE]
    assert waited["wall_ns"] > 1_000_000_000
    details = [line for line in report["verdict"]["details"] if line.startswith("waited for work: ")]
    assert len(details) == 1 and details[0].endswith("(genba tree --weight wall)"), report["verdict"]
    # Without that wait there is little but work, in the handlers' threads.
    assert (report["weight"], report["rows"][0]["function"]) == ("cpu", "spend"), report["verdict"]
    assert report["verdict"]["name"] not in ("waiting", "too short to judge")

    # By wall time it is one row, the last one; whoever asks for totals, for lines or for the tree has it where it was.
    rows = run.report_json("--weight", "wall")["rows"]
    assert rows[-1]["phase"] == "waiting for work" and all(row["phase"] != "waiting for work" for row in rows[:-1])
    assert rows[-1]["wall_ns"] > 1_000_000_000
    totals = run.report_json("--weight", "wall", "--sort", "total", "--limit", "0", "--min-share", "0")["rows"]
    [serves] = [row for row in totals if row["expression"] == SERVE]
    assert serves["total_wall_ns"] >= rows[-1]["wall_ns"]
    page = json.loads(genba("lines", run.recording, "--weight", "wall", "--format", "json").stdout)
    [line] = [line for function in page["functions"] for line in function["lines"] if line["source"] == SERVE]
    assert line["wall_ns"] >= rows[-1]["wall_ns"]
    assert "serve_forever" in run.tree("--weight", "wall")
