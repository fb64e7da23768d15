"""A real `genba serve` for a test: started, asked, stopped or killed, started again on the same data.

Owns: the process, its data folder and the words it printed. Never: sleeps; the printed address says that the server listens.
"""

import os
import re
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from client import Client
from ports import free_port
from recording import binary

STOP_SECONDS_MAX = 60
ADDRESS = re.compile(r"http://(127\.0\.0\.\d+|localhost|\[::1\]):(\d+)/")


def environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """What a developer has set for himself is no part of a test."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GENBA_", "AWS_", "XDG_"))}
    return {**kept, "NO_PROXY": "*", **(more or {})}


@dataclass
class Server:
    """`places` are --data, or --data, --db and --store: what every verb of this server is given."""

    folder: Path
    places: list[str] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    process: subprocess.Popen | None = None
    port: int = 0
    starts: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.places = self.places or ["--data", str(self.data)]
        # A server with a database and a store elsewhere leaves nothing in the home folder.
        self.secrets = {"XDG_DATA_HOME": str(self.folder), **self.secrets}

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def errors(self) -> str:
        """All that the server has said on stderr."""
        return "".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("stderr-*")))

    def start(self, listen: str | None = None) -> "Server":
        """On a port that is free, and on the same one when it is started again: no connection of others may have it in between."""
        self.starts += 1
        self.port = self.port or free_port()
        command = [str(binary()), "serve", "--listen", listen or f"127.0.0.1:{self.port}", *self.places, *self.flags]
        with (self.folder / f"stderr-{self.starts:03}").open("w") as stderr:
            self.process = subprocess.Popen(
                [*self.before, *command], stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment(self.secrets), cwd=self.folder
            )
        line = self.process.stdout.readline()
        found = ADDRESS.match(line)
        assert found, f"printed {line!r}, exit code {self.process.poll()}\n{self.errors}"
        self.port = int(found[2])
        return self

    def client(self, token: str | None = None) -> Client:
        return Client(self.port, token)

    def verb(self, *words: str, before: Sequence[str] = ()) -> subprocess.CompletedProcess:
        """`genba serve WORDS`, on the same data; `before` is what starts it."""
        command = [*before, str(binary()), "serve", *words, *self.places]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment(self.secrets), cwd=self.folder)

    def said(self, *words: str) -> str:
        done = self.verb(*words)
        assert done.returncode == 0, f"genba serve {' '.join(words)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def add_token(self, name: str, scopes: str, expires: str | None = None) -> str:
        return self.said("token", "add", name, "--scope", scopes, *(["--expires", expires] if expires else [])).strip()

    def stop(self) -> int:
        """In order, as a service manager does."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(STOP_SECONDS_MAX)
        self.process.stdout.close()
        return code

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def end(self) -> None:
        """Whatever state a test left it in."""
        if self.process is not None and self.process.poll() is None:
            self.kill()


@dataclass
class Team:
    """A server with a token for each kind of person, and a client for each."""

    server: Server
    tokens: dict[str, str]

    SCOPES = {"admin": "admin", "reader": "read", "pusher": "write", "lena": "read,write", "sam": "read,write"}

    @classmethod
    def of(cls, server: Server) -> "Team":
        return cls(server, {name: server.add_token(name, scopes) for name, scopes in cls.SCOPES.items()})

    def client(self, name: str) -> Client:
        return self.server.client(self.tokens[name])

    @property
    def admin(self) -> Client:
        return self.client("admin")

    @property
    def reader(self) -> Client:
        return self.client("reader")

    @property
    def pusher(self) -> Client:
        return self.client("pusher")

    @property
    def lena(self) -> Client:
        return self.client("lena")

    @property
    def sam(self) -> Client:
        return self.client("sam")

    @property
    def nobody(self) -> Client:
        return self.server.client()
