"""The server against its own description: schemathesis asks every route, logged in and not, and finds nothing.

Owns: who asks, how much and with which seed. The settings beside it (schemathesis.toml) say which answers to well-formed requests are right, too.
"""

import re
import subprocess
from pathlib import Path

import pytest

from recording import REPOSITORY
from served import Team, environment
from soak import SOAK

pytestmark = pytest.mark.measures

PROGRAM = REPOSITORY / "build/schemathesis/bin/st"
SETTINGS = Path(__file__).with_name("schemathesis.toml")
SEED = 20261124
EXAMPLES_MAX = 400 if SOAK else 12
SECONDS_MAX = 7200 if SOAK else 300
OPERATIONS = re.compile(r"Selected:? +(\d+)/(\d+)|Operations: +(\d+) selected / (\d+) total")


@pytest.mark.parametrize("who", ["admin", "reader", "nobody"])
def test_schemathesis_finds_nothing(team: Team, golden: bytes, honest: bytes, tmp_path: Path, who: str) -> None:
    if not PROGRAM.exists():
        pytest.skip("no schemathesis (make prepare)")
    # Something to find.
    team.lena.push(golden, tags=("main",))
    team.admin.push(honest)
    command = [str(PROGRAM), "--config-file", str(SETTINGS), "run", str(REPOSITORY / "crates/server/openapi.yaml"), "--url", f"http://127.0.0.1:{team.server.port}"]
    command += ["--seed", str(SEED), "--max-examples", str(EXAMPLES_MAX), "--no-color", "--continue-on-failure", "--workers", "2"]
    # The stream of a recording's events ends when the recording does: test_live.py has it.
    command += ["--exclude-path", "/api/recordings/{id}/events"]
    if who != "nobody":
        command += ["--header", f"Authorization: Bearer {team.tokens[who]}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, cwd=tmp_path, env=environment())
    said = done.stdout.partition("FAILURES")[2][:20_000] or done.stdout[-5000:] + done.stderr[-2000:]
    (tmp_path / "schemathesis.txt").write_text(done.stdout + done.stderr)
    assert done.returncode == 0, said
    assert team.server.process.poll() is None
