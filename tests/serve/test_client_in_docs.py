"""What docs/serve.md shows beside commands: the client in 20 lines of Python is run as it is shown; systemd and genba take the service; and the proxy
knows the routes and headers of this server."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recording import REPOSITORY, binary
from routes import described
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


def shown(language: str) -> str:
    [block] = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return block


def test_systemd_and_genba_take_the_service(tmp_path: Path) -> None:
    unit = shown("ini")
    [words] = re.findall(r"^ExecStart=(.+)$", unit, re.MULTILINE)
    program, *options = shlex.split(words)
    # What the first token is made with has the same user and the same folder.
    settings = re.findall(r"^((?:DynamicUser|User|StateDirectory|StateDirectoryMode)=.+)$", unit, re.MULTILINE)
    [made] = re.findall(r"systemd-run (.+) \\\n +(.+)\n", PAGE.read_text())
    assert len(settings) == 4 and re.findall(r"-p (\S+)", made[0]) == settings
    assert made[1].startswith(f"{program} serve token add ") and made[1].endswith(" ".join(options[1:]))
    done = subprocess.run([binary(), *options, "--show-config"], capture_output=True, text=True, timeout=60, env=environment())
    assert done.returncode == 0, done.stderr
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze (apt install systemd)")
    # It looks whether the program is there.
    (tmp_path / "genba.service").write_text(unit.replace(program, str(binary())))
    done = subprocess.run(["systemd-analyze", "verify", tmp_path / "genba.service"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "genba.service" not in done.stderr, done.stderr


def test_the_proxy_knows_routes_and_headers() -> None:
    proxy = shown("nginx")
    [streams] = re.findall(r"location ~ (\S+) \{", proxy)
    assert [name for name in described() if re.search(streams, name.partition(" ")[2])] == ["GET /api/recordings/{}/events"]
    code = "\n".join(path.read_text() for path in (REPOSITORY / "crates/server/src").rglob("*.rs"))
    assert set(re.findall(r"x-forwarded-[a-z]+", code)) == {"x-forwarded-proto"}
    assert re.findall(r"proxy_set_header (\S+)", proxy) == ["Host", "X-Forwarded-Proto"]
    assert proxy.count("{") == proxy.count("}")
