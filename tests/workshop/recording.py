"""Runs `genba run` on a program and reads the recording with genba's other verbs.

Owns: where a program and its recording lie (the same for interpreters inside a chroot), and the two laws, checked for
every recording made. Never: parses a recording itself; everything comes through the command's text and JSON.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interpreters import CHROOT, Interpreter
from profile_tables import Profile
from soak import SOAK
from stacks import Stack, parse_collapsed

REPOSITORY = Path(__file__).resolve().parents[2]
# The long amounts of `make soak` are a hundred times those of `make test`.
RUN_SECONDS_MAX = 3600 if SOAK else 180


def binary() -> Path:
    return Path(os.environ.get("GENBA_BINARY") or REPOSITORY / "target/release/genba")


def genba(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess:
    """A reading verb, outside of any chroot: what a recording holds must be enough."""
    command = [str(binary()), *map(str, arguments)]
    # What a developer has set for himself is no part of a test.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GENBA_") and name != "COLUMNS"}
    return subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS_MAX, cwd=cwd, env=environment)


def genba_said(*arguments: str | Path) -> str:
    done = genba(*arguments)
    assert done.returncode == 0, f"genba {' '.join(map(str, arguments))}: {done.returncode}\n{done.stderr}"
    return done.stdout


@dataclass
class Run:
    """A program that has ended. What the command says of its recording is asked for once, as long as the file stays the same."""

    exit_code: int
    stdout: str
    stderr: str
    recording: Path
    _read: dict[tuple, Any] = field(default_factory=dict, repr=False)

    def _once(self, name: str, flags: tuple[str, ...], read: Callable[[], Any]) -> Any:
        file = self.recording.stat()
        key = (name, flags, file.st_ino, file.st_size, file.st_mtime_ns)
        if key not in self._read:
            self._read[key] = read()
        return self._read[key]

    def answer(self) -> Any:
        """What the program printed about itself: one line of JSON, the last."""
        assert self.exit_code == 0, f"exit code {self.exit_code}\n{self.stderr}"
        return json.loads(self.stdout.splitlines()[-1])

    def report(self, *flags: str) -> str:
        return genba_said("report", self.recording, *flags)

    def report_json(self, *flags: str) -> dict[str, Any]:
        return self._once("report", flags, lambda: json.loads(self.report("--format", "json", *flags)))

    def collapsed(self, *flags: str) -> list[Stack]:
        return self._once("collapsed", flags, lambda: parse_collapsed(self.collapsed_text(*flags)))

    def collapsed_text(self, *flags: str) -> str:
        counted = () if "--weight" in flags else ("--weight", "samples")
        return genba_said("export", self.recording, "--to", "collapsed", "-o", "-", *counted, *flags)

    def tree(self, *flags: str) -> str:
        return genba_said("tree", self.recording, *flags)

    def profile(self) -> Profile:
        return self._once("profile", (), lambda: Profile(json.loads(genba_said("export", self.recording, "--to", "json", "-o", "-"))))

    def check(self) -> subprocess.CompletedProcess:
        return genba("check", self.recording)

    def check_laws(self, *, may_be_unfinished: bool = False) -> None:
        """`genba check` agrees, and so do the sums, computed once more from the profile's tables."""
        done = self.check()
        is_unfinished = may_be_unfinished and done.returncode == 1 and " is unfinished: " in done.stderr
        assert done.returncode == 0 or is_unfinished, f"genba check: {done.returncode}\n{done.stdout}\n{done.stderr}"
        self.profile().check_laws()


@dataclass
class Place:
    """A folder for one test, named twice: `outside` by the test, `inside` by the program (the same without a chroot)."""

    interpreter: Interpreter
    outside: Path
    inside: str
    genba_inside: str
    repository_inside: str
    # Of all tests of one pytest process, or of all workers (places.py), so that what is made once (the unpacked library, unwind rows, names) is found
    # again.
    cache: str = "../cache"

    def cache_folder(self) -> Path:
        """genba's own, which it makes."""
        return self.outside / self.cache / "genba"

    def command(self, arguments: list[str]) -> list[str]:
        root = self.interpreter.root
        if root is None:
            return arguments
        return [CHROOT, str(root), "/usr/bin/env", f"--chdir={self.inside}", *arguments]

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        path = "/usr/local/bin:/usr/bin:/bin" if self.interpreter.root else os.environ["PATH"]
        kept = {name: os.environ[name] for name in ("HOME", "LANG", "TERM") if name in os.environ}
        # Nothing outside of the tests' own folders is written.
        return {**kept, "PATH": path, "XDG_CACHE_HOME": os.path.normpath(f"{self.inside}/{self.cache}"), **more}


@dataclass
class Workshop:
    """Makes recordings with one interpreter and remembers them, so that the laws are checked for all of them."""

    place: Place
    runs: list[Run] = field(default_factory=list)
    # Processes end in the middle of what genba writes of them.
    may_be_unfinished: bool = False

    @property
    def interpreter(self) -> Interpreter:
        return self.place.interpreter

    def program(self, name: str) -> str:
        """Path, as the program sees it, of `tests/programs/…` or `casebook/…`."""
        return f"{self.place.repository_inside}/{name}"

    def write(self, name: str, text: str, mode: int = 0o644) -> str:
        path = self.place.outside / name
        path.write_text(text)
        path.chmod(mode)
        return f"{self.place.inside}/{name}"

    def take(self, source: Path) -> str:
        """Copies a file into the place; its path as the program sees it."""
        shutil.copy2(source, self.place.outside / source.name)
        return f"{self.place.inside}/{source.name}"

    def start(self, target: list[str], flags: list[str], environment: dict[str, str], verb: str = "run", **options: Any) -> subprocess.Popen:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        command = self.place.command([self.place.genba_inside, verb, *flags, *target])
        return subprocess.Popen(
            command, cwd=self.place.outside, env=self.place.environment(environment), **options
        )

    def run(
        self,
        program: str,
        *arguments: str,
        flags: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
        python_flags: tuple[str, ...] = (),
    ) -> Run:
        """`genba run FLAGS PYTHON [PYTHON_FLAGS] PROGRAM ARGUMENTS`."""
        target = [self.interpreter.path, *python_flags, program, *arguments]
        return self.run_target(target, flags=flags, environment=environment)

    def run_target(
        self, target: list[str], *, flags: tuple[str, ...] = (), environment: dict[str, str] | None = None
    ) -> Run:
        """`genba run FLAGS TARGET`, to its end."""
        name = f"recording-{len(self.runs)}.genba"
        process = self.start(target, ["-o", f"{self.place.inside}/{name}", *flags], environment or {})
        return self.finish(process, name)

    def finish(self, process: subprocess.Popen, name: str) -> Run:
        try:
            stdout, stderr = process.communicate(timeout=RUN_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = process.communicate()
            raise AssertionError(f"not done after {RUN_SECONDS_MAX} s\n{stdout[-2000:]}\n{stderr[-2000:]}") from None
        run = Run(process.returncode, stdout, stderr, self.place.outside / name)
        self.runs.append(run)
        return run

    def check_laws(self) -> None:
        """Both laws, for every recording made here (I-01, I-02)."""
        # A file that was written again and again is one.
        for run in {run.recording: run for run in self.runs}.values():
            if run.recording.exists() and run.recording.stat().st_size > 0:
                run.check_laws(may_be_unfinished=self.may_be_unfinished)


def check_laws(recording: Path) -> None:
    Run(0, "", "", recording).check_laws()
