"""Both laws when looks are forced to fail: no buffer, pointers that lead astray, a sampler that comes late, a rate that sinks,
rows that are used up.

Each force must have taken place, by the recording's own words, and be counted under its own reason (I-01, I-02, I-03): the
`workshop` checks both laws for each recording, and here the clock of the whole is held against the kernel's, read by the program
just before its end and by its parent after it. The program's answer is what it is without genba.
"""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from busy import busy
from figures import Figure
from profile_tables import RUNNING, Profile
from recording import REPOSITORY, Workshop

pytestmark = pytest.mark.measures

BUFFERS = 2
# utime and stime each come in whole microseconds, rounded down.
RUSAGE_US_MAX = 2
CUT = "[Python stack cut: not readable]"
ENDLESS = "[Python stack cut: more than 1,536 frames]"


@dataclass
class Forced:
    """One process under force, and the whole profile."""

    profile: Profile
    index: int

    @property
    def process(self) -> dict[str, Any]:
        return self.profile["processes"][self.index]

    def dropped(self, why: str) -> int:
        return self.process["accounting"]["dropped"].get(why, 0)

    def refused(self, why: str) -> int:
        return self.process["accounting"]["refused"].get(why, 0)


def force(workshop: Workshop, figure: Figure, target: list[str], *, flags: tuple[str, ...], field: str = "") -> Forced:
    python = workshop.interpreter.path
    command = [python, workshop.program("tests/programs/accounted.py"), field, python, *target]
    alone = subprocess.run(
        workshop.place.command(command), env=workshop.place.environment({}), capture_output=True, text=True, timeout=120
    )
    run = workshop.run_target(command, flags=flags)
    said, kernel = told(run.stdout, run.stderr)
    assert said["answer"] == told(alone.stdout, alone.stderr)[0]["answer"]
    profile = run.profile()
    forced = Forced(profile, profile.process_of(kernel["pid"]))
    assert forced.process["ended"] == "exit", forced.process
    assert said["cpu_ns"] <= forced.process["cpu_ns"] <= (kernel["cpu_us"] + RUSAGE_US_MAX) * 1000, (said, kernel, forced.process)
    counted = forced.process["accounting"]
    figure("looks", json.dumps({key: counted[key] for key in ("ticks", "sampled", "dropped", "refused")}), "looks")
    return forced


def told(stdout: str, stderr: str) -> tuple[dict, dict]:
    """What the program says at its end, and what its parent says of it."""
    lines = [json.loads(line) for line in stdout.splitlines()]
    assert len(lines) == 2 and lines[1]["status"] == 0, f"{stdout}\n{stderr}"
    return lines[0], lines[1]


@pytest.fixture(scope="session")
def stale(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("stale") / "stale.so"
    source = REPOSITORY / "tests/programs/stale.c"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", str(source), "-o", str(built)], check=True)
    return built


def test_no_buffer(workshop: Workshop, spin: Path, figure: Figure) -> None:
    """Two questions at a time; threads that let no signal through keep theirs until they are found out."""
    masked, open_to_signals = 8 * BUFFERS, 2
    target = [workshop.program("tests/programs/crowd.py"), workshop.take(spin), str(masked), str(open_to_signals), "50"]
    forced = force(workshop, figure, target, flags=("--rate", "2000"), field=f"questions_max={BUFFERS}")
    assert forced.dropped("no buffer") > 0
    assert forced.refused("masked") > 0


@pytest.mark.parametrize("native", [True, False], ids=["with C", "without C"])
def test_stale_pointers(workshop: Workshop, stale: Path, figure: Figure, native: bool) -> None:
    """The handler meets them in a running process. What was read before the wrong pointer is shown, and that the rest is missing;
    where nothing was, without C frames, the look is refused."""
    target = [workshop.program("tests/programs/stale.py"), workshop.take(stale), "50"]
    forced = force(workshop, figure, target, flags=("--rate", "2000", *(() if native else ("--no-native",))))
    rows = [row for row in forced.profile.rows() if row.process == forced.index and row.state in RUNNING]
    cut = [row for row in rows if {CUT, ENDLESS} & set(row.names())]
    if native:
        for function, seen in (("stale_state", set()), ("stale_previous", {"main"}), ("stale_code", set())):
            astray = [row for row in cut if function in row.names()]
            figure(f"{function}: stacks cut", sum(row.samples for row in astray), "samples")
            assert astray, function
            # Nothing is invented beyond the pointer.
            assert {frame["name"] for row in astray for frame in row.frames if frame["kind"] == "python"} == seen
    else:
        assert forced.refused("unreadable") > 0
        # Before 3.13 a newest frame is believed only with its whole chain, since it may not have begun: there `main` is left out.
        assert any("main" in row.names() for row in cut) == (workshop.interpreter.minor_number >= 13)


def test_segments(workshop: Workshop, figure: Figure) -> None:
    """The process goes on under another key whenever its rows are used up: it stays one process, and both laws hold over all of it.
    One sample of a chain has more functions than a segment has rows for."""
    chains, functions, rows_max = 4, 200, 150
    target = [workshop.program("tests/programs/chains.py"), str(chains), str(functions), "300"]
    forced = force(workshop, figure, target, flags=(), field=f"rows_max={rows_max}")
    keys = process_keys(workshop.runs[-1].recording.read_bytes())
    figure("segments", len(keys), "process keys")
    # The command's, the parent's, and of the process one that each chain brings to its end.
    assert len(keys) >= 2 + chains
    assert [process["pid"] for process in forced.profile["processes"]].count(forced.process["pid"]) == 1


def process_keys(recording: bytes) -> set[bytes]:
    """Of all blocks (FORMAT.md)."""
    magic, key_at = b"\x89genba\r\n", 10
    places = [found.start() for found in re.finditer(re.escape(magic), recording)]
    return {recording[place + key_at : place + key_at + 16] for place in places}


def test_too_late(workshop: Workshop, spin: Path, figure: Figure) -> None:
    target = [workshop.program("tests/programs/crowd.py"), workshop.take(spin), "0", "2", "150"]
    with busy():
        forced = force(workshop, figure, target, flags=("--rate", "10000"))
    assert forced.dropped("late") > 0


def rates(forced: Forced) -> list[dict]:
    return [mark for mark in forced.profile["marks"] if mark["kind"] == "rate" and mark["process"] == forced.index]


def test_a_rate_that_sinks(workshop: Workshop, figure: Figure) -> None:
    # Each of the 150 wakes 2,000 times, for some 10 µs of CPU: the first second of it is free.
    forced = force(workshop, figure, [workshop.program("tests/programs/restless.py"), "150", "2000"], flags=("--budget", "0.5%"))
    figure("genba's share of a core", forced.process["cpu_genba_ns"] / forced.process["wall_ns"], "share")
    assert rates(forced), forced.process
    assert rates(forced)[0]["value"] > 1_000_000 and "budget" in rates(forced)[0]["text"]


def test_a_rate_that_was_asked_for_stays(workshop: Workshop, figure: Figure) -> None:
    target = [workshop.program("tests/programs/restless.py"), "150", "200"]
    assert rates(force(workshop, figure, target, flags=("--rate", "1000"))) == []


def test_starved_at_the_end(workshop: Workshop, figure: Figure) -> None:
    """What the sampler missed when it is told to end is late too: no tick of the program's life is missing."""
    run = workshop.run(workshop.program("tests/programs/starved.py"), "400", flags=("--rate", "1000"))
    assert run.exit_code == 0, run.stderr
    if run.stdout == "not allowed\n":
        pytest.skip("a real-time process on a CPU of its own is not allowed here")
    profile = run.profile()
    [process] = [process for process in profile["processes"] if "starved.py" in " ".join(process["argv"])]
    counted = process["accounting"]
    share = counted["ticks"] * 1_000_000 / process["wall_ns"]
    figure("ticks of a process that ended while the sampler got no CPU", share, "share", bound=0.9)
    assert share > 0.9 and counted["dropped"]["late"] > 200, process
