"""Law 2 on programs of a second or more: at most 1 % of the CPU is not sampled (I-02); and what a tick costs is in the file."""

from pathlib import Path

import pytest

from profile_tables import RUNNING
from recording import Run, Workshop
from runs_on import EVERYWHERE
from stalls import Stalls, undisturbed

pytestmark = pytest.mark.measures


@pytest.mark.parametrize("name", ["flat.py", "deep.py", *(["sort_in_sub.py"] if EVERYWHERE else [])])
def test_not_sampled_is_small(workshop: Workshop, stalls: Stalls, name: str) -> None:
    """The 1 % is some 15 ms, so a run is repeated in which the machine kept a thread waiting for that long: it may have been the sampler, at the end."""
    program = workshop.program(f"tests/programs/{name}")
    is_covered = lambda run: run.profile().coverage_faults() == []
    profile = undisturbed(stalls, 10_000_000, lambda: workshop.run(program, "1.5", flags=("--rate", "1000")), is_covered).profile()
    (process,) = profile["processes"]
    assert process["cpu_ns"] >= 1_000_000_000
    assert profile.coverage_faults() == []
    running = profile.sum("samples", lambda row: row.state in RUNNING)
    # Each running sample is one answer of the handler; answers that were not believed make it more, never less.
    assert process["handler_runs"] >= running > 0
    assert process["handler_ns"] > 0


@pytest.mark.parametrize("forked", [False, True], ids=["started", "forked"])
def test_a_sampler_that_begins_late_misses_nothing(workshop: Workshop, stalls: Stalls, late: Path, forked: bool) -> None:
    """What the program did until genba's thread got a CPU is in the first sample. A run is repeated in which the machine kept a thread waiting for as
    long as what may be missing: it may have been the sampler, at the end."""
    text = "import os, time\nif FORKED and (pid := os.fork()): os._exit(os.waitpid(pid, 0)[1])\nwhile time.process_time() < 0.5: pass\n"
    program, preloaded = workshop.write("begins.py", text.replace("FORKED", str(forked))), {"LD_PRELOAD": workshop.take(late)}

    def misses_nothing(run: Run) -> bool:
        """The 100 ms that it begins late are 20 % of the program."""
        process = run.profile()["processes"][-1]
        return process["cpu_not_sampled_ns"] - process["cpu_before_ns"] <= 0.02 * process["cpu_ns"]

    run = undisturbed(stalls, 10_000_000, lambda: workshop.run(program, environment=preloaded), misses_nothing)
    assert run.exit_code == 0, run.stderr
    assert run.profile()["processes"][-1]["cpu_ns"] >= 500_000_000
    assert misses_nothing(run), run.profile().facts()


def test_a_rate_that_was_asked_for_is_kept(workshop: Workshop) -> None:
    run = workshop.run(workshop.program("tests/programs/flat.py"), "1.0", flags=("--interval", "250us"))
    profile = run.profile()
    assert profile["meta"]["interval_ns"] == 250_000
    assert [mark for mark in profile["marks"] if mark["kind"] == "rate"] == [], profile.facts()
    accounting = profile["accounting"]
    # A tick is due every 250 µs from the first one to the last, and what came late is counted as dropped, so none is missing. Each comes at
    # random between a half and one and a half of the interval: the sum of n strays by 0.29 √n of it, and four times that is never reached.
    (process,) = profile["processes"]
    due = process["cpu_sampled_ns"] / 250_000
    assert accounting["ticks"] >= due - 4 * 0.29 * due**0.5, profile.facts()


def test_resident_memory(workshop: Workshop) -> None:
    text = "import time\nkept = b'x' * (200 << 20)\nuntil = time.process_time() + 1\nwhile time.process_time() < until: pass\n"
    run = workshop.run(workshop.write("fat.py", text), flags=("--mem",))
    assert run.exit_code == 0, run.stderr
    assert run.report_json()["rss_max_bytes"] >= 200 << 20
    profile = run.profile()
    times_ns = [row["at_ns"] for row in profile["rss"]]
    assert len(times_ns) >= 10 and times_ns == sorted(times_ns)
    assert max(row["bytes"] for row in profile["rss"]) == run.report_json()["rss_max_bytes"]


def test_without_native_frames_start_and_end_are_samples_too(workshop: Workshop) -> None:
    """Outside of Python there is nothing to see without C: that is a sample without a stack, not a refusal."""
    text = "kept = [[] for _ in range(1_000_000)]\nwhile __import__('time').process_time() < 0.5: sum(range(100))\n"
    run = workshop.run(workshop.write("ends_slowly.py", text), flags=("--no-native",))
    assert "unreadable" not in run.report_json()["accounting"]["refused"]
    assert run.profile().sum("samples", lambda row: row.state in RUNNING and not row.frames) > 0
