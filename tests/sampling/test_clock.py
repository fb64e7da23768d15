"""casebook/clock: how much of a program's CPU a slow clock takes. The slow clock is one that is preloaded, and the truth is what it spends by its
own count. What the program needs without it is no truth: behind a system call the program's own code is slower, too."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bounds import effective_samples, share_bound
from figures import Figure
from recording import REPOSITORY, Run, Workshop, binary, genba

pytestmark = pytest.mark.measures

EVENTS = {"slow": "150000", "fixed": "150000", "works": "4000"}
# Of casebook/clock/slow.py the clock takes most, which leaves little room above for a share that is too large. This program works beside it.
# Between processors of a virtual machine a signal takes some microseconds, and its thread goes on until then: a system call that begins meanwhile ends
# with it. So the work, and each reading, takes far longer than that.
WORKS = """\
import sys, time
for _ in range(int(sys.argv[1])):
    time.monotonic()
    sum(range(9000))
"""
READINGS_BESIDE_WORK = 400


@pytest.fixture(scope="module")
def slow_clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("clock"))


@pytest.fixture(scope="module")
def slowest_clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("clock"), f"-DREADINGS={READINGS_BESIDE_WORK}")


def compiled(folder: Path, *flags: str) -> Path:
    made = folder / "slow_clock.so"
    subprocess.run(["cc", "-O1", *flags, "-shared", "-fPIC", str(REPOSITORY / "tests/programs/slow_clock.c"), "-o", str(made)], check=True)
    return made


@pytest.fixture(autouse=True)
def one_root(workshop: Workshop) -> None:
    if workshop.interpreter.root:
        pytest.skip("the slow clock is preloaded into the program and into genba doctor, and this CPython is in a folder of its own")


def recorded(workshop: Workshop, name: str, slow_clock: Path, **environment: str) -> Run:
    program = workshop.write("works.py", WORKS) if name == "works" else workshop.program(f"casebook/clock/{name}.py")
    return workshop.run(program, EVENTS[name], environment={"LD_PRELOAD": str(slow_clock), **environment})


def share(recording: Path, preloaded: Path | None) -> tuple[dict[str, Any], subprocess.CompletedProcess]:
    environment = {**os.environ, "LD_PRELOAD": str(preloaded)} if preloaded else dict(os.environ)
    command = [str(binary()), "doctor", "--format", "json", "--clock", str(recording)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    return json.loads(done.stdout), done


@pytest.mark.parametrize("name", ["slow", "works"])
def test_the_share_of_a_slow_clock(workshop: Workshop, slow_clock: Path, slowest_clock: Path, figure: Figure, name: str) -> None:
    told = workshop.place.outside / "spent"
    slow_clock = slowest_clock if name == "works" else slow_clock
    run = recorded(workshop, name, slow_clock, SLOW_CLOCK_SPENT=str(told))
    # Of the program: the command is preloaded as well, and reads clocks seldom.
    spent_ns, call_ns = max(tuple(map(int, line.split())) for line in told.read_text().splitlines())
    page, done = share(run.recording, slow_clock)
    found = page["share"]
    # Few readings are libc's own, such as that of a wait with a time, and go past what is preloaded.
    assert found["answered_by"][0] == str(slow_clock) and done.returncode == 1
    # Beside those are the way into the first call and the way out of the last one of each reading, and those into and out of the function.
    least = spent_ns / found["cpu_ns"]
    # The ways into and out of a call are one call together, where they cost at a reading's ends what they cost in its middle. A second call is room
    # for what they cost more behind Python's code, and for the function around them.
    most = min((spent_ns + 2 * call_ns) / found["cpu_ns"], 1.0)
    measured = found["clock_ns"] / found["cpu_ns"]
    profile = run.profile()
    samples = int(effective_samples(profile.sum("cpu_ns") / 1000, profile.sum("cpu_us2")))
    figure("share of a slow clock", measured * 100, "% of the CPU")
    figure("share of a slow clock, by its own count", least * 100, "% of the CPU")
    figure("share of a slow clock, with two calls more a reading", most * 100, "% of the CPU")
    assert least - share_bound(least, samples) <= measured <= most + share_bound(most, samples), (least, measured, most, samples)
    assert found["could_be_ns"] < found["clock_ns"] and "with a fast clock about" in done.stdout
    # Where another library answers than in the recording, nobody knows what it would cost.
    page, done = share(run.recording, None)
    assert page["share"]["could_be_ns"] is None
    (fact,) = [fact for fact in page["facts"] if fact["name"] == "clock calls"]
    assert fact["standing"] == "slow" and fact["remedy"].startswith(f"start the program without {slow_clock}")


def test_a_clock_that_is_read_seldom_costs_little(workshop: Workshop, slow_clock: Path) -> None:
    (slow, _), (fixed, _) = (share(recorded(workshop, name, slow_clock).recording, slow_clock) for name in ("slow", "fixed"))
    # A thousandth of the readings.
    assert fixed["share"]["clock_ns"] < slow["share"]["clock_ns"] / 10


def test_a_recording_without_c_frames(workshop: Workshop) -> None:
    run = workshop.run(workshop.program("casebook/clock/fixed.py"), "1000", flags=("--no-native",))
    said = genba("doctor", "--clock", run.recording)
    assert said.returncode == 1 and "does not tell how much CPU its C functions took" in said.stderr
