#!/usr/bin/env python3
"""The gate: runs every part of `make test` (and of `make check`), three at a time, and gives one verdict at the end.

    make/gate.py check test        what .ci/run runs
    make/gate.py rust python       these parts, and what they need

A part begins when the parts it needs are done; of those that may begin, the one that stands first in PARTS does. Each part writes to build/gate/PART.log. A test
that fails is run once more, alone, after all parts: one that passes then is *unsteady* and listed. The gate is red when a test fails twice, when a part fails,
when more than UNSTEADY_MAX tests are unsteady, or when one was unsteady in another of the last RUNS_KEPT runs on this machine.
Owns: the order, the second try, the verdict, the last lines. Never: knows what a test asserts. Uses the standard library alone: it runs before anything is set up.
"""

import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build/gate"
# What could not be had: a line each, by make/prepare.sh.
NOT_HERE = ROOT / "build/not-here"
HISTORY = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "genba/unsteady.jsonl"
PYTEST = "build/tools/bin/pytest"
NEXTEST = "build/tools/bin/cargo-nextest"
# One more than the usual machine has processors: a part waits for a server, for a browser, or for the folder that another one compiles into.
LANES = 3
UNSTEADY_MAX = 3
RUNS_KEPT = 10
# More failures than that are no bad luck, and are not tried again.
FAILED_MAX = 15
LAST_LINES = 20
# Every test and every compilation ends long before: a part whose log stays the same for so long hangs.
SILENT_SECONDS_MAX = 1500
# Of a failure's message, on the last lines.
MESSAGE_CHARACTERS = 200


@dataclass(frozen=True)
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)


@dataclass(frozen=True)
class Failure:
    """A test, its message, and the command that runs it alone."""

    test: str
    message: str
    command: str


@dataclass(frozen=True)
class Outcome:
    counts: Counts = Counts()
    failures: tuple[Failure, ...] = ()
    # Failed, and passed when the part's own runner ran them again.
    unsteady: tuple[Failure, ...] = ()
    # The part's own runner came to its end: no test was left out.
    is_whole: bool = True


@dataclass(frozen=True)
class Part:
    name: str
    command: str
    needs: tuple[str, ...] = ()
    # Makes an outcome of the log and the part's name; a part without one has no tests, and passes by its exit code.
    read: Callable[[str, str], Outcome] | None = None
    # Both processors are busy with it.
    alone: bool = False


@dataclass
class Done:
    part: Part
    exit_code: int
    seconds: float
    cpu_seconds: float
    outcome: Outcome = field(default_factory=Outcome)

    @property
    def is_broken(self) -> bool:
        """It failed, and no test of its explains that, or it was broken off behind the failed ones."""
        return self.exit_code != 0 and not (self.outcome.failures and self.outcome.is_whole)


def log_of(name: str) -> Path:
    return LOGS / f"{name}.log"


def failures_of(name: str) -> Path:
    """Where tests/conftest.py writes what fails, a line of JSON a test."""
    return LOGS / f"{name}.failed"


def times_of(name: str) -> Path:
    """Where it writes how long each test took, for who wants to know where a part's minutes are."""
    return LOGS / f"{name}.times"


def read_pytest(log: str, name: str) -> Outcome:
    path = failures_of(name)
    lines = path.read_text().splitlines() if path.exists() else []
    failed = {one["test"]: " ".join(one["message"].split()) for one in map(json.loads, lines)}
    failures = tuple(Failure(test, message, f"{PYTEST} {shlex.quote(test)}") for test, message in failed.items())
    closing = re.findall(r"^=+ (.*\d+ (?:passed|failed|error|skipped).*) in [\d.]+s", log, re.MULTILINE)
    count = lambda word: sum(int(number) for line in closing for number in re.findall(rf"(\d+) {word}", line))
    # A file that cannot be collected is no test that failed: none of its tests ran.
    is_whole = bool(closing) and "ERROR collecting " not in log
    return Outcome(Counts(count("passed") + count("xfailed"), len(failures), count("skipped")), failures, is_whole=is_whole)


def read_nextest(log: str, name: str) -> Outcome:
    path = ROOT / "target/nextest/default/junit.xml"
    if not path.exists():
        return Outcome()
    counts, failures, unsteady = Counts(), [], []
    for suite in xml.etree.ElementTree.parse(path).getroot().iter("testsuite"):
        for case in suite.iter("testcase"):
            binary, name = suite.get("name", ""), case.get("name", "")
            command = f"{NEXTEST} nextest run -E " + shlex.quote(f"binary_id({binary}) and test(={name})")
            test = f"{binary} {name}"
            if (fault := case.find("failure")) is not None or (fault := case.find("error")) is not None:
                failures.append(Failure(test, message_of(fault), command))
            elif (fault := case.find("flakyFailure")) is not None:
                unsteady.append(Failure(test, message_of(fault), command))
            counts += Counts(failed=1) if fault is not None and case.find("flakyFailure") is None else Counts(passed=1)
    return Outcome(counts, tuple(failures), tuple(unsteady))


def message_of(fault: xml.etree.ElementTree.Element) -> str:
    # Of a test that was ended because it took too long nextest says the type alone.
    said = (" ".join((text or "").split()) for text in (fault.get("message"), fault.text, fault.get("type")))
    return next(filter(None, said), "")


def read_node(log: str, name: str) -> Outcome:
    count = lambda word: sum(map(int, re.findall(rf"^(?:#|ℹ) {word} (\d+)$", log, re.MULTILINE)))
    # The name of each test that failed and why, up to where in the file that was.
    found = re.findall(r"^test at (\S+?\.test\.mjs):\d+:\d+\n(.*(?:\n(?!test at |\s+at ).*)*)", log, re.MULTILINE)
    told: dict[str, list[str]] = {}
    for file, words in found:
        told.setdefault(file, []).append(" ".join(words.split()))
    failures = {file: Failure(f"web {file}", " ".join(words), f"cd web && node --test {shlex.quote(file)}") for file, words in told.items()}
    is_whole = re.search(r"^(?:#|ℹ) tests \d+$", log, re.MULTILINE) is not None
    return Outcome(Counts(count("pass"), count("fail"), count("skipped")), tuple(failures.values()), is_whole=is_whole)


MAKE = "make --no-print-directory"
# Those that fail fastest stand first. Clippy, fuzz and rust compile in one folder, one after the other, as cargo wants it: while one of them waits
# for that, two other parts keep the processors busy. `check` and `test` choose by the group.
GROUPS: dict[str, tuple[Part, ...]] = {
    "setup": (
        Part("compiler", "make/prepare.sh compiler"),
        Part("tools", "make/prepare.sh tools"),
        Part("build", f"{MAKE} build wheel", needs=("compiler", "tools")),
        # Behind the compiler, because apt lets in one at a time.
        Part("packages", "make/prepare.sh packages", needs=("compiler",)),
        # `make test-all` alone has the tests of several servers, which need a database and a store that is built from a crate, those by schemathesis,
        # and those of programs that Apache and PyInstaller begin.
        Part("machine", "make/prepare.sh sid debug standalone compiled${GENBA_ALL:+_all} readers ${GENBA_ALL:+servers schemathesis s3}", needs=("tools", "packages")),
        # Compiled in another folder than what `build` compiles: while the tools come, and while that links, or waits for the network.
        Part("twin", f"{MAKE} twin", needs=("compiler",)),
    ),
    "check": (
        Part("lints", f"{MAKE} check-quick XTASK=target/debug/xtask", needs=("build",)),
        Part("prose", "make/prepare.sh prose && make/prose.sh", needs=("tools",)),
        Part("clippy", f"{MAKE} check-clippy", needs=("build",)),
    ),
    "test": (
        # Compiles nothing: it runs while clippy and the tests of Rust do.
        Part("web", f"{MAKE} test-web", needs=("build", "packages"), read=read_node),
        Part("rust", f"{MAKE} test-rust", needs=("build", "machine"), read=read_nextest),
        # The same inputs in each run; `make test-all` has the others. What it needs of cargo the tests of Rust have compiled, which wait meanwhile.
        Part("fuzz", f'{MAKE} fuzz FUZZ="--inputs $((${{GENBA_ALL:-0}} ? 30000 : 15000))"', needs=("build",)),
        Part("python", f"{MAKE} test-python", needs=("build", "machine", "twin"), read=read_pytest, alone=True),
        # Their pages prove by how much a fix is faster, in some by a few per cent: with two tests beside that drowned.
        Part("cases", f"{MAKE} test-cases", needs=("build", "machine"), read=read_pytest, alone=True),
    ),
}
PARTS = {part.name: part for group in GROUPS.values() for part in group}


def chosen(names: list[str]) -> list[Part]:
    """With what they need, in the order of PARTS."""
    wanted: set[str] = set()
    waiting = [part.name for name in names for part in (GROUPS[name] if name in GROUPS else (PARTS[name],))]
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting.extend(PARTS[name].needs)
    return [part for part in PARTS.values() if part.name in wanted]


def start(part: Part, environment: dict[str, str]) -> subprocess.Popen:
    with log_of(part.name).open("wb") as log:
        environment = {**environment, "GENBA_FAILED": str(failures_of(part.name)), "GENBA_TIMES": str(times_of(part.name))}
        return subprocess.Popen(["/bin/sh", "-c", part.command], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def is_silent(name: str) -> bool:
    return time.time() - log_of(name).stat().st_mtime > SILENT_SECONDS_MAX


def end(process: subprocess.Popen) -> None:
    """With all that it started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_parts(parts: list[Part], environment: dict[str, str]) -> tuple[dict[str, Done], list[Part]]:
    """Also those that could not begin: a part that they need did not pass."""
    running: dict[str, tuple[subprocess.Popen, float]] = {}
    # As Ctrl-C does: parts are in sessions of their own, and would go on.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return run_in_lanes(parts, environment, running)
    finally:
        for process, _ in running.values():
            end(process)


def run_in_lanes(parts: list[Part], environment: dict[str, str], running: dict[str, tuple[subprocess.Popen, float]]) -> tuple[dict[str, Done], list[Part]]:
    done: dict[str, Done] = {}
    waiting = list(parts)
    while True:
        for part in list(waiting):
            is_free = not running if part.alone else len(running) < LANES and not any(PARTS[name].alone for name in running)
            if is_free and all(name in done and not done[name].is_broken for name in part.needs):
                waiting.remove(part)
                running[part.name] = (start(part, environment), time.monotonic())
        if not running:
            return done, waiting
        time.sleep(0.2)
        for name, (process, began) in list(running.items()):
            before = cpu_of_children()
            if process.poll() is None:
                if not is_silent(name):
                    continue
                end(process)
                with log_of(name).open("a") as log_file:
                    log_file.write(f"\ngate: nothing was written here for {SILENT_SECONDS_MAX // 60} minutes: ended\n")
            # The one that was reaped, with all that it waited for.
            cpu_seconds = cpu_of_children() - before
            del running[name]
            part = PARTS[name]
            log = log_of(name).read_text(errors="replace")
            one = done[name] = Done(part, process.returncode, time.monotonic() - began, cpu_seconds, part.read(log, name) if part.read else Outcome())
            say_end(one, log)


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def say_end(done: Done, log: str) -> None:
    word = "ok" if done.exit_code == 0 else f"failed (exit code {done.exit_code})"
    print(f"gate: {done.part.name:8} {word}, {minutes(done.seconds)} ({minutes(done.cpu_seconds)} of CPU)", flush=True)
    if done.exit_code != 0 or done.part.read:
        lines = log.splitlines()
        shown = lines[-200:] if done.exit_code != 0 else lines[-3:]
        print("\n".join(f"    {line}" for line in shown), flush=True)


def minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.1f} min"


def try_again(failures: list[Failure], environment: dict[str, str]) -> tuple[list[Failure], list[Failure]]:
    """Each alone: what failed twice, and what is unsteady."""
    twice, unsteady = [], []
    for failure in failures:
        done = subprocess.run(["/bin/sh", "-c", failure.command], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        print(f"gate: again  {failure.test}: {'passed' if done.returncode == 0 else 'failed'}", flush=True)
        if done.returncode != 0:
            print("\n".join(f"    {line}" for line in (done.stdout + done.stderr).splitlines()[-60:]), flush=True)
        (unsteady if done.returncode == 0 else twice).append(failure)
    return twice, unsteady


def unsteady_before() -> set[str]:
    lines = HISTORY.read_text().splitlines()[1 - RUNS_KEPT :] if HISTORY.exists() else []
    return {test for line in lines for test in json.loads(line)["unsteady"]}


def remember(commit: str, unsteady: list[Failure]) -> None:
    kept = HISTORY.read_text().splitlines()[1 - RUNS_KEPT :] if HISTORY.exists() else []
    line = json.dumps({"commit": commit, "unsteady": [one.test for one in unsteady]})
    HISTORY.parent.mkdir(parents=True, exist_ok=True)
    HISTORY.write_text("\n".join([*kept, line]) + "\n")


def reasons(done: dict[str, Done], not_begun: list[Part], twice: list[Failure], unsteady: list[Failure], before: set[str]) -> list[str]:
    """Why the gate is red, each with the command that repeats just that; empty where it is green."""
    broken = [one for one in done.values() if one.is_broken]
    words = [f"failed: {one.part.name} (build/gate/{one.part.name}.log)\n  {one.part.command}" for one in broken]
    words += [f"not run: {part.name}, which needs {', '.join(name for name in part.needs if name not in done or done[name].is_broken)}" for part in not_begun]
    words += [f"failed: {one.test}: {one.message[:MESSAGE_CHARACTERS]}\n  {one.command}" for one in twice]
    words += [f"unsteady in two of {RUNS_KEPT} runs: {one.test}\n  {one.command}" for one in unsteady if one.test in before]
    if len(unsteady) > UNSTEADY_MAX:
        words.append(f"more than {UNSTEADY_MAX} unsteady tests: {len(unsteady)}")
    return words


def closing(counts: Counts, red: list[str], unsteady: list[Failure], seconds: float, commit: str) -> list[str]:
    """The last lines. A red run's are at most LAST_LINES, so that a cut log still says why."""
    lines = [line for one in red for line in one.split("\n")]
    if len(lines) > LAST_LINES - 6:
        lines = [*lines[: LAST_LINES - 7], f"… {len(lines) - LAST_LINES + 7} more lines in build/gate/verdict"]
    not_here = NOT_HERE.read_text().splitlines() if NOT_HERE.exists() else []
    return [
        *(f"not here: {line}" for line in not_here),
        *(f"unsteady: {one.test}: {one.message[:MESSAGE_CHARACTERS]}" for one in unsteady[:UNSTEADY_MAX]),
        *lines,
        f"gate: {'RED' if red else 'green'} · {commit} · {minutes(seconds)} · {len(unsteady)} unsteady",
        f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped",
    ]


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in GROUPS and name not in PARTS]
    if unknown or not names:
        sys.exit(f"error: no part {', '.join(unknown) or 'named'}\nhint: make/gate.py {' '.join(GROUPS)}, or of {' '.join(PARTS)}")
    began = time.monotonic()
    LOGS.mkdir(parents=True, exist_ok=True)
    for stale in (*LOGS.iterdir(), NOT_HERE):
        stale.unlink(missing_ok=True)
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True).stdout.strip() or "no commit"
    environment = {**os.environ, "GENBA_GATE": "1"}
    parts = chosen(names)
    print(f"gate: {' '.join(part.name for part in parts)} at {commit}; each writes to build/gate/PART.log", flush=True)
    done, not_begun = run_parts(parts, environment)
    failures = [failure for one in done.values() for failure in one.outcome.failures]
    unsteady = [failure for one in done.values() for failure in one.outcome.unsteady]
    if len(failures) > FAILED_MAX:
        print(f"gate: {len(failures)} tests failed, more than {FAILED_MAX}: none is tried again", flush=True)
        twice = failures
    else:
        twice, steady_alone = try_again(failures, environment)
        unsteady += steady_alone
    red = reasons(done, not_begun, twice, unsteady, unsteady_before())
    remember(commit, unsteady)
    counts = sum((one.outcome.counts for one in done.values()), Counts())
    counts = Counts(counts.passed + len(failures) - len(twice), len(twice) + sum(one.is_broken for one in done.values()), counts.skipped)
    last = closing(counts, red, unsteady, time.monotonic() - began, commit)
    (LOGS / "verdict").write_text("\n".join([*red, *last]) + "\n")
    print("\n".join(last), flush=True)
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
