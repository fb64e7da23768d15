"""`genba gc try`: the program runs both ways in turns, the threshold is set in it and in no other, and what differs is said.

Owns: programs that write down what they were run with. What is certain about times is judged in crates/profile/src/rules/difference/paired.rs, with known numbers.
"""

import json
import signal
import subprocess
from pathlib import Path

from entered import on
from recording import RUN_SECONDS_MAX, Workshop

# Each run adds a line: its thresholds when it ends, and how often the collector of each generation ran in its loop.
NOTES = """
import gc, json, os, sys, time

begun = gc.get_threshold()
# Recording begins a few ms after the program; a program as it is has nothing to wait for.
until = time.process_time() + 0.5
while time.process_time() < until and gc.get_threshold() == begun:
    pass
keep = []
before = [generation["collections"] for generation in gc.get_stats()]
for number in range(30):
    keep.append([[] for _ in range(1000)])
ran = [now["collections"] - then for now, then in zip(gc.get_stats(), before)]
with open("notes", "a") as notes:
    notes.write(json.dumps({"begun": begun, "now": gc.get_threshold(), "ran": sum(ran), "arguments": sys.argv[1:]}) + "\\n")
print("said by the program")
"""


def tried(workshop: Workshop, *words: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    place = workshop.place
    return subprocess.run(
        place.command([place.genba_inside, "gc", "try", *words]), cwd=place.outside, env=place.environment(environment or {}),
        capture_output=True, text=True, timeout=RUN_SECONDS_MAX,
    )


def notes(workshop: Workshop) -> list[dict]:
    return [json.loads(line) for line in (workshop.place.outside / "notes").read_text().splitlines()]


def test_runs_in_turns(workshop: Workshop) -> None:
    program = workshop.write("noted.py", NOTES)
    python = workshop.interpreter.path
    done = tried(workshop, "--threshold", "50000,7", "--pairs", "3", "--format", "json", "--python", python, program, "--threshold", "x")
    assert done.returncode == 0 and "said by the program" not in done.stdout, done.stderr
    found, runs = json.loads(done.stdout), notes(workshop)
    default = runs[0]["begun"]
    assert all(run["arguments"] == ["--threshold", "x"] for run in runs)
    # One run that counts for nothing, then before, after, after, before, before, after.
    is_set = [run["now"] == [50_000, 7, default[2]] for run in runs]
    assert is_set == [False, False, True, True, False, False, True]
    assert all(run["begun"] == run["now"] == default for run, changed in zip(runs, is_set) if not changed)
    assert all(run["ran"] == 0 for run, changed in zip(runs, is_set) if changed)
    assert all(run["ran"] >= 10 for run, changed in zip(runs, is_set) if not changed)
    assert (found["threshold"], found["pairs"], found["freeze"]) == ([50_000, 7], 3, False)
    before, after = found["before"], found["after"]
    assert len(before) == len(after) == 3
    assert min(run["collections"] for run in before) >= 10 > max(run["collections"] for run in after)
    assert all(run["cpu_ns"] <= run["wall_ns"] * 2 and run["cpu_ns"] > 0 for run in before + after)
    assert [run["at_other_threshold"] for run in after] == [0, 0, 0]
    for measure in (found["wall_ns"], found["cpu_ns"]):
        assert measure["change_low"] <= measure["after"] - measure["before"] + 1 and measure["after"] - measure["before"] <= measure["change_high"] + 1
        assert measure["is_shown"] == (measure["change_low"] > 0 or measure["change_high"] < 0)
    assert sorted(path.name for path in workshop.place.outside.iterdir()) == ["noted.py", "notes"]


def test_a_program_that_sets_its_own(workshop: Workshop) -> None:
    text = NOTES.replace("keep = []", "gc.set_threshold(900)\nkeep = []")
    workshop.write("own.py", text)
    # As a module.
    done = tried(workshop, "--threshold", "50000", "--pairs", "3", "--python", workshop.interpreter.path, "-m", "own", "word", environment={"PYTHONPATH": "."})
    assert done.returncode == 0, done.stderr
    assert "gc.set_threshold(50000): 3 pairs of runs" in done.stdout
    assert "in 3 runs with it collections began at another threshold" in done.stdout and "next:" not in done.stdout
    assert {run["now"][0] for run in notes(workshop)} == {900} and notes(workshop)[0]["arguments"] == ["word"]


@on("3.13", "3.15")
def test_freezing(workshop: Workshop) -> None:
    program = workshop.write(
        "forks.py",
        "import gc, os, time\nuntil = time.process_time() + 0.5\nwhile time.process_time() < until: pass\n"
        "pid = os.fork()\nif pid == 0:\n    os._exit(0)\nos.waitpid(pid, 0)\n"
        "open('frozen', 'a').write(f'{gc.get_freeze_count()}\\n')\n",
    )
    done = tried(workshop, "--freeze", "--pairs", "3", "--python", workshop.interpreter.path, program)
    assert done.returncode == 0, done.stderr
    frozen = [int(line) > 1000 for line in (workshop.place.outside / "frozen").read_text().split()]
    assert frozen == [False, False, True, True, False, False, True]
    assert "gc.freeze() before each fork: 3 pairs" in done.stdout and "nothing was frozen" not in done.stdout


@on("3.13")
def test_what_cannot_be_tried(workshop: Workshop) -> None:
    python = workshop.interpreter.path

    def refused(code: int, *words: str) -> str:
        done = tried(workshop, *words)
        assert (done.returncode, done.stdout) == (code, ""), done.stdout + done.stderr
        assert "error: " in done.stderr and "hint: " in done.stderr, done.stderr
        return done.stderr

    fails = workshop.write("fails.py", "import sys\nprint('sorry', file=sys.stderr)\nsys.exit(3)\n")
    said = refused(1, "--threshold", "9", "--python", python, fails)
    assert "run 1 of 13 (the program as it is) ended with exit code 3" in said and "  sorry" in said
    assert "nothing to try" in refused(2, fails)
    assert "nothing to run" in refused(2, "--threshold", "9")
    assert "one to three whole numbers" in refused(2, "--threshold", "many", fails)
    assert "3 to 1000" in refused(2, "--threshold", "9", "--pairs", "2", fails)
    assert "no such file" in refused(1, "--threshold", "9", "gone.py")


@on("3.13")
def test_ctrl_c(workshop: Workshop) -> None:
    """Nothing of it is left: no process, no file."""
    program = workshop.write("waits.py", "import os\nopen('pid', 'w').write(str(os.getpid()))\nos.rename('pid', 'pid.there')\nimport signal\nsignal.pause()\n")
    place = workshop.place
    folder = place.outside / "temporary"
    folder.mkdir()
    command = place.command([place.genba_inside, "gc", "try", "--threshold", "9", "--python", workshop.interpreter.path, program])
    process = subprocess.Popen(command, cwd=place.outside, env=place.environment({"TMPDIR": str(folder)}), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    there = place.outside / "pid.there"
    while not there.exists():
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted in run 1 of 13" in said
    assert list(folder.iterdir()) == []
    assert not Path(f"/proc/{there.read_text()}").exists()
