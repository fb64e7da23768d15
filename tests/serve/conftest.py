"""Fixtures of the server's tests: a server, a team with tokens, a shared database and store, and recordings to upload."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import interpreters
from crafted import Crafted
from engines import S3, Postgres, missing
from recording import REPOSITORY, binary
from served import Server, Team, environment

GOLDEN = REPOSITORY / "testdata/golden/v3.genba"
PROGRAM = """
import time

def parse(rows):
    return [time.strptime(row, "%Y-%m-%d") for row in rows]

def load():
    until = time.process_time() + 0.6
    while time.process_time() < until:
        parse(["2026-11-17"] * 50)

load()
"""


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Makes servers that do not outlive the test: `servers("one", flags=[…])`, not started."""
    made: list[Server] = []

    def make(name: str = "server", **options) -> Server:
        made.append(Server(tmp_path / name, **options))
        return made[-1]

    yield make
    for server in made:
        server.end()


@pytest.fixture
def server(servers: Callable[..., Server]) -> Server:
    """On loopback without a token: whoever reaches it may do everything."""
    return servers().start()


@pytest.fixture
def team(servers: Callable[..., Server]) -> Team:
    made = servers()
    tokens = Team.of(made)
    made.start()
    return tokens


@pytest.fixture(scope="module")
def module_team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """One for all tests of a file that leave no token revoked and no address limited."""
    made = Server(tmp_path_factory.mktemp("team"))
    team = Team.of(made)
    made.start()
    yield team
    made.end()


@pytest.fixture(scope="session")
def golden() -> bytes:
    return GOLDEN.read_bytes()


@pytest.fixture(scope="session")
def honest() -> bytes:
    return Crafted().recording()


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording that the real command made with one CPython, memory included."""
    one = next((one for one in interpreters.found() if one.root is None), None)
    if one is None:
        pytest.skip("no CPython outside of a chroot (pyenv install 3.13)")
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "orders.py").write_text(PROGRAM)
    command = [str(binary()), "run", "--mem", "--tag", "build=42", "-o", "orders.genba", one.path, "orders.py"]
    variables = environment({"XDG_CACHE_HOME": str(folder / "cache")})
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    return folder / "orders.genba"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    made = Postgres()
    yield made
    made.remove()


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    made = S3(tmp_path_factory.mktemp("s3"))
    yield made
    made.end()


@pytest.fixture
def pair(request: pytest.FixtureRequest, servers: Callable[..., Server]) -> tuple[Server, Server]:
    """Two servers with one database and one store; started."""
    if why := missing():
        pytest.skip(why)
    postgres, s3 = request.getfixturevalue("postgres"), request.getfixturevalue("s3")
    name = f"pair{abs(hash(request.node.nodeid)) % 10**9}"
    places = ["--db", postgres.database(name), "--store", s3.bucket(name)]
    one, other = (servers(each, places=places, secrets=s3.secrets) for each in ("one", "other"))
    return one.start(), other.start()
