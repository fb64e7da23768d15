"""A program that runs before genba looks at it, as a process of the test's, and `genba attach` to it.

Owns: starting it, what the kernel says of it, and its end. Never: judges a recording.
"""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from profile_tables import Profile
from recording import Run, Workshop, binary, genba


@dataclass
class Program:
    """A program that said that it is ready, and its pid outside of any chroot."""

    process: subprocess.Popen[str]
    workshop: Workshop

    @property
    def pid(self) -> int:
        return self.process.pid

    def attach(self, name: str, *flags: str, pid: int | None = None, umask: int = -1) -> subprocess.CompletedProcess[str]:
        recording = self.workshop.place.outside / name
        command = [str(binary()), "attach", str(pid or self.pid), "-o", str(recording), "--force", *flags]
        environment = {**os.environ, **self.workshop.place.environment({})}
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, umask=umask)
        if done.returncode == 0:
            self.workshop.runs.append(Run(0, "", done.stderr, recording))
        return done

    def recorded(self, name: str, *flags: str, pid: int | None = None) -> Run:
        done = self.attach(name, *flags, pid=pid)
        assert done.returncode == 0, done.stderr
        return self.workshop.runs[-1]

    @contextmanager
    def recording(self, name: str, *flags: str, pid: int | None = None) -> Iterator[Run]:
        """For as long as the block runs, which may ask what is in it so far (`until_it_holds`): how long that takes is the machine's affair."""
        run = Run(0, "", "", self.workshop.place.outside / name)
        command = [str(binary()), "attach", str(pid or self.pid), "-o", str(run.recording), "--force", *flags]
        environment = {**os.environ, **self.workshop.place.environment({})}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as attached:
            try:
                said = attached.stderr.readline()
                assert said.startswith("recording process"), said
                yield run
            finally:
                attached.send_signal(signal.SIGINT)
                try:
                    rest = attached.communicate(timeout=120)[1]
                except subprocess.TimeoutExpired:
                    # The end of the block waits for it without a limit.
                    attached.kill()
                    raise
        assert attached.returncode == 0, said + rest
        run.stderr = said + rest
        self.workshop.runs.append(run)

    def says(self, text: str) -> None:
        """On the program's stdin."""
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def end(self) -> dict:
        stdout, stderr = self.process.communicate("\n", timeout=60)
        assert self.process.returncode == 0, stderr
        return json.loads(stdout.splitlines()[-1])

    def status(self, key: str) -> int:
        return int(re.search(rf"^{key}:\s*([0-9a-f]+)", Path(f"/proc/{self.pid}/status").read_text(), re.MULTILINE)[1], 16 if key.startswith("Sig") else 10)

    def descriptors(self) -> set[str]:
        return set(os.listdir(f"/proc/{self.pid}/fd"))

    def mapped_files(self) -> list[str]:
        """Files only: the C library keeps memory of threads that have ended."""
        return sorted(line.split(maxsplit=5)[5] for line in Path(f"/proc/{self.pid}/maps").read_text().splitlines() if "/" in line)

    def timers(self) -> str:
        """Those of POSIX, as the kernel lists them; nothing on a kernel that does not."""
        listed = Path(f"/proc/{self.pid}/timers")
        return listed.read_text() if listed.exists() else ""

    def has_genba_thread(self) -> bool:
        return any(name_of(task) == "genba" for task in Path(f"/proc/{self.pid}/task").iterdir())

    def state(self) -> tuple[int, int, set[str], bool]:
        return self.status("Threads"), self.status("SigCgt"), self.descriptors(), self.has_genba_thread()


@contextmanager
def started(workshop: Workshop, *target: str) -> Iterator[Program]:
    command = workshop.place.command([workshop.interpreter.path, *target])
    process = subprocess.Popen(
        command, cwd=workshop.place.outside, env=workshop.place.environment({}), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        assert line.startswith("ready"), process.communicate(timeout=5)[1]
        yield Program(process, workshop)
    finally:
        process.kill()
        process.communicate()


def until_it_holds(run: Run, what: Callable[[Profile], bool]) -> None:
    """Of a recording that grows. At first there may be nothing in it that can be read."""

    def holds() -> bool:
        so_far = genba("export", run.recording, "--to", "json", "-o", "-")
        return so_far.returncode == 0 and what(Profile(json.loads(so_far.stdout)))

    assert until(holds, every_seconds=0.2), genba("report", run.recording)


def name_of(task: Path) -> str | None:
    """As the kernel has it; none of a thread that has ended, maybe since it was listed."""
    try:
        return (task / "comm").read_text().rstrip("\n")
    except (FileNotFoundError, ProcessLookupError):
        return None


def until(is_so, seconds: float = 60, every_seconds: float = 0.02) -> bool:
    """So long that no busy machine needs it; a wait in vain takes all of it. What starts a process is better asked for less often: it takes
    the CPU from what is waited for."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(every_seconds)
    return True
