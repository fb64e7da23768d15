"""kill -9 at random moments: the recording opens, at most the last 250 ms and what was in flight is gone, the laws hold
(I-01, I-02, I-03: nothing is lost uncounted, a block is whole or not there)."""

import os
import random
import signal
import time

import pytest

from other_users import READER, root_alone
from profile_tables import RUNNING
from recording import Workshop, genba
from stalls import Stalls, undisturbed

SEED = 20261120
# Blocks are written every 250 ms. In flight: the tick that was being looked at (1 ms), and the sampler's wait for a CPU while
# the program, the test and genba run (a slice of 4 ms each). What the machine itself keeps a thread waiting comes on top.
LOST_NS_MAX = (250 + 1 + 3 * 4) * 1_000_000


# Such a process gets its recording, and the run's table of bells, from root's genba.
OF_ANOTHER_USER = {"id": "another_user", "marks": root_alone}


@pytest.mark.measures
@pytest.mark.parametrize("turn, before", [*(pytest.param(turn, [], id=str(turn)) for turn in range(4)), pytest.param(4, READER, **OF_ANOTHER_USER)])
def test_kill_9(workshop: Workshop, stalls: Stalls, turn: int, before: list[str]) -> None:
    chance = random.Random(f"{SEED} {workshop.interpreter.name} {turn}")
    lines = chance.randrange(40, 160)
    # It may be killed in the middle of a block.
    workshop.may_be_unfinished = True
    process = workshop.start(
        [*before, workshop.interpreter.path, workshop.program("tests/programs/progress.py")],
        ["-o", f"{workshop.place.inside}/killed.genba"],
        {},
    )
    for _ in range(lines):
        pid, _, cpu_ns = map(int, process.stdout.readline().split())
    os.kill(pid, signal.SIGKILL)
    run = workshop.finish(process, "killed.genba")
    # What was said between the last line read and the signal counts too.
    for line in run.stdout.splitlines():
        if len(line.split()) == 3 and run.stdout.endswith("\n"):
            cpu_ns = int(line.split()[2])
    assert run.exit_code == 128 + signal.SIGKILL, run.stderr
    report = genba("report", run.recording)
    assert report.returncode == 0, report.stderr
    profile = run.profile()
    (recorded,) = profile["processes"]
    assert recorded["ended"] is None
    assert profile["meta"]["exit_signal"] == signal.SIGKILL
    assert cpu_ns - recorded["cpu_ns"] <= LOST_NS_MAX + stalls.worst_ns(), (lines, cpu_ns, stalls.worst_ns(), recorded)
    assert profile.sum("samples", lambda row: row.state in RUNNING and "work" in row.names()) > 0, profile.facts()


# The command waits for so long.
PASSED_ON_NS_MAX = 5_000_000
TURNS, TURNS_MAX = 7, 35


def are_most_whole(missing: list[int]) -> bool:
    """Of all turns, also of those that may come yet."""
    return sum(one <= 0 for one in missing) * 2 > TURNS


@pytest.mark.measures
@pytest.mark.parametrize("before", [pytest.param([], id="own_user"), pytest.param(READER, **OF_ANOTHER_USER)])
def test_a_signal_that_genba_passes_on_lets_the_program_write_first(workshop: Workshop, stalls: Stalls, before: list[str]) -> None:
    """Without that, up to 250 ms were missing, 125 in the middle. Of a program that gets no CPU for as long as the command waits more is missing;
    so a turn counts in which this machine kept nobody waiting for half of that. Of most of these nothing is missing that was used before the signal."""
    chance = random.Random(f"{SEED} {workshop.interpreter.name} passed on")
    missing = []
    # On a busy machine the block may not be whole when the command has waited for long enough.
    workshop.may_be_unfinished = True
    for turn in range(TURNS_MAX):
        if len(missing) == TURNS or are_most_whole(missing):
            break
        name = f"passed-{turn}.genba"
        process = workshop.start(
            [*before, workshop.interpreter.path, workshop.program("tests/programs/progress.py")],
            ["-o", f"{workshop.place.inside}/{name}", *(["--no-children"] if turn % 2 else [])],
            {},
        )
        for _ in range(chance.randrange(20, 60)):
            *_, cpu_ns = map(int, process.stdout.readline().split())
        sent_ns = time.monotonic_ns()
        process.send_signal(signal.SIGTERM)
        run = workshop.finish(process, name)
        assert run.exit_code == 128 + signal.SIGTERM, run.stderr
        (recorded,) = run.profile()["processes"]
        if stalls.worst_ns(sent_ns) < PASSED_ON_NS_MAX / 2:
            missing.append(cpu_ns - recorded["cpu_ns"])
    if len(missing) < TURNS and not are_most_whole(missing):
        pytest.skip(f"others had the CPUs for more than {PASSED_ON_NS_MAX / 2e6} ms in {TURNS_MAX - len(missing)} of {TURNS_MAX} turns")
    assert are_most_whole(missing), missing


def test_genba_killed_leaves_the_program_and_the_recording(workshop: Workshop) -> None:
    """The recording is the program's own work: it goes on when the command that started it is gone."""
    process = workshop.start(
        [workshop.interpreter.path, workshop.program("tests/programs/progress.py")],
        ["-o", f"{workshop.place.inside}/orphan.genba"],
        {},
    )
    pid = int(process.stdout.readline().split()[0])
    process.kill()
    for _ in range(60):
        assert process.stdout.readline(), "the program ended with genba"
    os.kill(pid, signal.SIGKILL)
    run = workshop.finish(process, "orphan.genba")
    profile = run.profile()
    assert profile["meta"]["exit_code"] is None
    assert profile.sum("samples", lambda row: row.state in RUNNING and "work" in row.names()) > 0


@pytest.mark.measures
def test_the_first_blocks_come_early(workshop: Workshop, stalls: Stalls) -> None:
    """A pool's worker is often killed before it is a quarter of a second old. With one block at the start, one at the end and one every
    quarter of a second, a process has no more blocks than that. The early ones are due after 10, 30 and 90 ms: a sampler that gets no CPU in that
    time writes them as one, and the run is repeated."""
    program = workshop.write("brief.py", "import time; until = time.monotonic() + 0.1\nwhile time.monotonic() < until: pass")
    came_early = lambda process: process["blocks"] > 2 + process["wall_ns"] // 250_000_000
    is_well = lambda run: all(map(came_early, run.profile()["processes"]))
    (process,) = undisturbed(stalls, 20_000_000, lambda: workshop.run(program), is_well).profile()["processes"]
    assert came_early(process), process
