"""The client in 20 lines of Python that docs/serve.md shows: it is run as it is shown."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from recording import REPOSITORY
from served import Team, environment

PAGE = REPOSITORY / "docs/serve.md"
LINES_MAX = 20


def client_shown() -> str:
    if not PAGE.exists():
        pytest.fail("no docs/serve.md")
    shown = [block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "urllib.request" in block]
    assert len(shown) == 1, "docs/serve.md shows one client"
    return shown[0]


def test_the_client_of_the_docs_runs(team: Team, golden: bytes, tmp_path: Path) -> None:
    program = client_shown()
    assert len(program.strip().splitlines()) <= LINES_MAX
    (tmp_path / "client.py").write_text(program)
    (tmp_path / "app.genba").write_bytes(golden)
    variables = environment({"GENBA_URL": f"http://127.0.0.1:{team.server.port}", "GENBA_TOKEN": team.tokens["lena"]})
    done = subprocess.run([sys.executable, "client.py", "app.genba"], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    [made] = team.lena.recordings()
    assert team.lena.content(made["id"]) == golden
    assert f"{made['url']}" in done.stdout and made["facts"]["verdict"]["kind"] in done.stdout
