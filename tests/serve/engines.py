"""What several genba servers share: a PostgreSQL cluster and a small S3 server, each started for one test session.

Owns: where their programs are looked for, in which words a missing one is skipped, and that neither writes outside of its folder.
"""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ports import free_port

PROGRAMS = Path("/usr/lib/postgresql")
READY_SECONDS_MAX = 60
ACCESS_KEY, SECRET_KEY = "genba-tests", "genba-tests-secret"


def s3_program() -> Path:
    return Path(os.environ.get("GENBA_S3") or Path.home() / ".cache/genba/s3") / "bin/s3s-fs"


def postgres_programs() -> Path | None:
    found = sorted(PROGRAMS.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def missing() -> str | None:
    if postgres_programs() is None:
        return "no PostgreSQL (make prepare, as root)"
    if not s3_program().exists():
        return "no s3s-fs (make prepare)"
    return None


@dataclass
class Postgres:
    """A cluster of its own, in a temporary folder, that syncs what it acknowledges. PostgreSQL does not run as root: `postgres` or `nobody` owns it.

    Not below pytest's own folder: each pytest that begins on this machine closes that one to all others.
    """

    folder: Path = field(init=False)
    port: int = field(default_factory=free_port)
    process: subprocess.Popen | None = None

    def __post_init__(self) -> None:
        programs = postgres_programs()
        if programs is None:
            pytest.skip("no PostgreSQL (make prepare, as root)")
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="genba-postgres-"))
        self.as_owner: list[str] = []
        if os.getuid() == 0:
            names = {one.pw_name: one for one in pwd.getpwall()}
            owner = names.get("postgres") or names["nobody"]
            self.as_owner = ["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"]
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        make = [str(programs / "initdb"), "-D", str(self.cluster), "-U", "genba", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"]
        subprocess.run([*self.as_owner, *make], check=True, capture_output=True, cwd="/", timeout=120)
        self.start()

    @property
    def cluster(self) -> Path:
        return self.folder / "cluster"

    def start(self) -> None:
        settings = {"listen_addresses": "127.0.0.1", "port": str(self.port), "unix_socket_directories": "", "fsync": "on", "synchronous_commit": "on", "max_connections": "200"}
        command = [str(self.programs / "postgres"), "-D", str(self.cluster)]
        command += [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen([*self.as_owner, *command], stdout=log, stderr=log, cwd="/")
        ready = [str(self.programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        wait_until(lambda: subprocess.run(ready).returncode == 0, self.process, (self.folder / "log").read_text)

    def database(self, name: str) -> str:
        """Makes an empty database; its address."""
        self.run("postgres", f"CREATE DATABASE {name}")
        return f"postgres://genba@127.0.0.1:{self.port}/{name}"

    def run(self, database: str, statement: str) -> str:
        return self.ask("psql", "-d", database, "-Atc", statement)

    def copy(self, database: str, name: str) -> str:
        """As `pg_dump` finds it at one moment, while others change it; the address of the copy."""
        dump = self.ask("pg_dump", database)
        address = self.database(name)
        self.ask("psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", name, text=dump)
        return address

    def ask(self, program: str, *words: str, text: str = "") -> str:
        command = [str(self.programs / program), "-h", "127.0.0.1", "-p", str(self.port), "-U", "genba", *words]
        return subprocess.run(command, input=text, check=True, capture_output=True, text=True, timeout=60).stdout

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            # Fast shutdown.
            self.process.send_signal(2)
            self.process.wait(60)

    def remove(self) -> None:
        self.end()
        shutil.rmtree(self.folder)


@dataclass
class S3:
    """`s3s-fs` on a folder; a bucket is a folder in it."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen | None = None

    def __post_init__(self) -> None:
        if not s3_program().exists():
            pytest.skip("no s3s-fs (make prepare)")
        self.buckets.mkdir(parents=True)
        self.start()

    @property
    def buckets(self) -> Path:
        return self.folder / "buckets"

    @property
    def secrets(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_REGION": "us-east-1",
        }

    def start(self) -> None:
        command = [str(s3_program()), "--host", "127.0.0.1", "--port", str(self.port), "--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY, str(self.buckets)]
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        wait_until(lambda: is_listening(self.port), self.process, (self.folder / "log").read_text)

    def bucket(self, name: str) -> str:
        (self.buckets / name).mkdir()
        return f"s3://{name}"

    def copy(self, bucket: str, name: str) -> str:
        """Object by object, while others put and delete some."""
        address = self.bucket(name)
        for folder, _, files in os.walk(self.buckets / bucket):
            to = self.buckets / name / Path(folder).relative_to(self.buckets / bucket)
            to.mkdir(parents=True, exist_ok=True)
            for file in files:
                with contextlib.suppress(FileNotFoundError):
                    shutil.copy2(Path(folder) / file, to / file)
        return address

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def is_listening(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def wait_until(condition, process: subprocess.Popen, words) -> None:
    """Of programs of others, which do not say when they are ready."""
    until = time.monotonic() + READY_SECONDS_MAX
    while not condition():
        assert process.poll() is None, f"ended with {process.returncode}\n{words()}"
        assert time.monotonic() < until, f"not ready after {READY_SECONDS_MAX} s\n{words()}"
        time.sleep(0.02)
