"""The server against its own description: schemathesis asks every route, with a token, with the session of a browser and without, and finds nothing.

Owns: who asks, how much and with which seed, and that every route was asked and did its work. The settings beside it (schemathesis.toml) say which answers
to well-formed requests are right, too.
"""

import hashlib
import json
import re
import subprocess
from pathlib import Path

import pytest

from recording import REPOSITORY
from routes import described
from served import Server, Team, environment
from soak import SOAK

pytestmark = pytest.mark.measures

PROGRAM = REPOSITORY / "build/schemathesis/bin/st"
SETTINGS = Path(__file__).with_name("schemathesis.toml")
SEED = 20261124
EXAMPLES_MAX = 400 if SOAK else 12
SECONDS_MAX = 7200 if SOAK else 300
# The stream of a recording's events ends when the recording does: test_live.py has it.
LEFT_OUT = "/api/recordings/{id}/events"
# Random names lead to no recording: half of the time these operations are asked of one that is there.
KNOWN = """
[dictionaries]
recordings.values = {recordings}
uploads.values = ["{upload}"]
bytes.values = [{bytes}]
sha256.values = ["{sha256}"]

[[operations]]
include-operation-id = ["getRecording", "changeRecording", "getContent", "contentOffset", "tree", "rows", "memory", "listLinks", "createLink", "pageRecording"]
parameters."path.id" = {{ dictionary = "recordings", probability = 0.5 }}

[[operations]]
include-operation-id = ["difference", "pageCompare"]
parameters."path.before" = {{ dictionary = "recordings", probability = 0.7 }}
parameters."path.after" = {{ dictionary = "recordings", probability = 0.7 }}

[[operations]]
include-operation-id = "sealRecording"
parameters."path.id" = {{ dictionary = "uploads", probability = 0.7 }}
parameters."body.bytes" = {{ dictionary = "bytes", probability = 0.7 }}
parameters."body.sha256" = {{ dictionary = "sha256", probability = 0.7 }}
"""
# A cookie is one of the two ways to log in: with the other made up beside it, the server would look at that one first.
ONLY_THE_SESSION = """
[generation]
with-security-parameters = false

[auth]
auto-signup = false
"""
# Where a token that may read does its work, and one that may do everything.
VIEWS = ("/api/recordings/{id}", "/api/recordings/{id}/content", "/api/recordings/{id}/tree", "/api/recordings/{id}/rows", "/api/recordings/{id}/memory")
DONE = {
    "nobody": ("/api", "/health", "/login"),
    "reader": (*VIEWS, "/api/recordings", "/api/recordings/{before}/difference/{after}", "/api/recordings/{id}/links", "/r/{id}"),
    "admin": (*VIEWS, "/api/recordings", "/api/recordings/{id}/seal", "/api/recordings/{id}/links", "/api/tokens", "/api/settings"),
    "session": (*VIEWS, "/api/recordings", "/api/session", "/api/tokens", "/api/settings"),
}


@pytest.mark.parametrize("who", ["admin", "session", "reader", "nobody"])
def test_schemathesis_finds_nothing(team: Team, golden: bytes, honest: bytes, tmp_path: Path, who: str) -> None:
    if not PROGRAM.exists():
        pytest.skip("no schemathesis (make prepare)")
    # Something to find, and an upload that can be sealed.
    made = [team.lena.push(golden, tags=("main",)), team.admin.push(honest)]
    upload = team.admin.begin("upload.genba")
    team.admin.append(upload, 0, honest).expect(204)
    known = {"recordings": json.dumps([one["id"] for one in made]), "upload": upload, "bytes": len(honest), "sha256": hashlib.sha256(honest).hexdigest()}
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(SETTINGS.read_text() + KNOWN.format(**known) + (ONLY_THE_SESSION if who == "session" else ""))
    # It may revoke the token that it has been given.
    watching = team.server.add_token("watching", "read")
    before = done_at(team.server, watching)
    report = tmp_path / "schemathesis.json"
    command = [str(PROGRAM), "--config-file", str(settings), "run", str(REPOSITORY / "crates/server/openapi.yaml"), "--url", f"http://127.0.0.1:{team.server.port}"]
    command += ["--seed", str(SEED), "--max-examples", str(EXAMPLES_MAX), "--no-color", "--continue-on-failure", "--workers", "2"]
    command += ["--exclude-path", LEFT_OUT, "--report-json-path", str(report)]
    left_out = 1
    if who == "session":
        answer = team.nobody.ask("POST", "/api/session", {"token": team.tokens["admin"]}).expect(204)
        # Whoever logs out is nobody afterwards.
        command += ["--header", f"Cookie: {answer.headers['Set-Cookie'].partition(';')[0]}", "--exclude-operation-id", "logout"]
        left_out += 1
    elif who != "nobody":
        command += ["--header", f"Authorization: Bearer {team.tokens[who]}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, cwd=tmp_path, env=environment())
    said = done.stdout.partition("FAILURES")[2][:20_000] or done.stdout[-5000:] + done.stderr[-2000:]
    (tmp_path / "schemathesis.txt").write_text(done.stdout + done.stderr)
    assert done.returncode == 0, said
    assert team.server.process.poll() is None
    asked = json.loads(report.read_text())["operations"]
    assert (asked["total"], asked["selected"], asked["tested"]) == (len(described()), len(described()) - left_out, len(described()) - left_out), asked
    after = done_at(team.server, watching)
    assert [route for route in DONE[who] if after.get(route, 0) <= before.get(route, 0)] == [], after


def done_at(server: Server, token: str) -> dict[str, int]:
    """How many requests of each route were answered with 2xx so far."""
    said = server.client(token).get("/metrics").expect(200).body.decode()
    found: dict[str, int] = {}
    for route, count in re.findall(r'^genba_http_requests_total\{route="([^"]+)",status="2\d\d"\} (\d+)$', said, re.MULTILINE):
        found[route] = found.get(route, 0) + int(count)
    return found
