"""Three nodes of Garage on this machine, each with folders and ports of its own, that keep three copies of everything.

Owns: their settings, processes and layout. Never: leaves one running.
"""

import os
import secrets
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from engines import is_listening, wait_until
from ports import free_port

NODES = 3
# Until the nodes of a new cluster agree.
AGREE_SECONDS_MAX = 30
BUCKET = "genba"
KEY_ID, SECRET = "GK" + "a1" * 12, "b2" * 32
SETTINGS = """
metadata_dir = "{folder}/meta"
data_dir = "{folder}/data"
db_engine = "lmdb"
metadata_fsync = true
data_fsync = true
replication_factor = {nodes}
rpc_bind_addr = "127.0.0.1:{rpc_port}"
rpc_public_addr = "127.0.0.1:{rpc_port}"
rpc_secret = "{secret}"

[s3_api]
s3_region = "garage"
api_bind_addr = "127.0.0.1:{s3_port}"
root_domain = ".s3.localhost"
"""


def program() -> Path:
    return Path(os.environ.get("GENBA_GARAGE") or Path.home() / ".cache/genba/garage") / "bin/garage"


@dataclass
class Node:
    folder: Path
    rpc_secret: str
    s3_port: int = field(default_factory=free_port)
    rpc_port: int = field(default_factory=free_port)
    process: subprocess.Popen | None = None

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        values = {"folder": self.folder, "nodes": NODES, "rpc_port": self.rpc_port, "s3_port": self.s3_port, "secret": self.rpc_secret}
        self.settings.write_text(SETTINGS.format(**values))
        self.settings.chmod(0o600)

    @property
    def settings(self) -> Path:
        return self.folder / "garage.toml"

    def start(self) -> None:
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen([str(program()), "-c", str(self.settings), "server"], stdout=log, stderr=log)
        wait_until(lambda: is_listening(self.rpc_port) and is_listening(self.s3_port), self.process, (self.folder / "log").read_text)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def run(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([str(program()), "-c", str(self.settings), *words], capture_output=True, text=True, timeout=120)

    def ask(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, f"garage {' '.join(words)}: {done.stderr}"
        return done.stdout.strip()

    def insist(self, *words: str) -> None:
        """Of a cluster whose nodes may not agree yet. What a try has done that was not answered is done."""
        until = time.monotonic() + AGREE_SECONDS_MAX
        while (done := self.run(*words)).returncode != 0 and "already exists" not in done.stderr:
            assert time.monotonic() < until, f"garage {' '.join(words)}: {done.stderr}"
            time.sleep(0.2)


@dataclass
class Garage:
    folder: Path
    nodes: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        shared = secrets.token_hex(32)
        self.nodes = [Node(self.folder / f"node-{number}", shared) for number in range(NODES)]
        try:
            for node in self.nodes:
                node.start()
            self.join()
        except BaseException:
            self.end()
            raise

    def join(self) -> None:
        first = self.nodes[0]
        ids = [node.ask("node", "id", "-q").splitlines()[-1] for node in self.nodes]
        for one in ids[1:]:
            first.ask("node", "connect", one)
        for one in ids:
            first.ask("layout", "assign", "-z", "here", "-c", "1G", one.partition("@")[0])
        first.ask("layout", "apply", "--version", "1")
        first.insist("key", "import", "--yes", "-n", "genba", KEY_ID, SECRET)
        first.insist("bucket", "create", BUCKET)
        first.insist("bucket", "allow", "--read", "--write", "--owner", BUCKET, "--key", KEY_ID)

    def secrets(self, node: int) -> dict[str, str]:
        """What a server is told that asks this node."""
        return {
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.nodes[node].s3_port}",
            "AWS_REGION": "garage",
        }

    def end(self) -> None:
        for node in self.nodes:
            if node.process is not None and node.process.poll() is None:
                node.kill()
