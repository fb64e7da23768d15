"""`genba bench` from outside: what runs in which order, what is counted of it, what is said of a difference that is known, and what becomes of bad input.

The truth is known without genba: commands write down that they ran, sleep for a known time, touch a known amount of memory. No test asserts a duration.
"""

import contextlib
import csv
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from recording import binary, genba
from terminal import until, until_the_end_of

# Touches 64 MB in pages of its own, and sleeps twenty times. 4 kB pages, so that each is a fault of its own.
GREEDY = """\
import mmap, time
room = mmap.mmap(-1, 64 << 20)
room.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, 64 << 20, 4096): room[at] = 1
for _ in range(20): time.sleep(0.001)
"""
def exported(folder: Path, *words: str, code: int = 0) -> dict:
    done = genba("bench", "--export-json", "bench.json", *words, cwd=folder)
    assert done.returncode == code, done
    return json.loads((folder / "bench.json").read_text())


def test_what_is_left_without_the_start_up(tmp_path: Path) -> None:
    page = exported(tmp_path, "-r", "8", "--start-up", "echo start >> log; sleep 0.02", "echo a >> log; sleep 0.2", "echo b >> log; sleep 0.4")
    order = (tmp_path / "log").read_text().split()
    assert order == ["a", "b", "start", "start", "b", "a"] * 4, "in turns with the others"
    assert len(page["results"]) == 2, "it is no command that is compared"
    start = page["genba"]["start_up"]
    assert start["command"].startswith("echo start") and len(start["times"]) == 8
    left = [sum(time - begun for time, begun in zip(one["times"], start["times"])) / 8 for one in page["results"]]
    rests = [one["genba"]["beyond_start_up"] for one in page["results"]]
    assert [one["mean"] for one in rests] == pytest.approx(left)
    slower = max(rests, key=lambda one: one["mean"])
    assert slower["relative"]["ratio"] == pytest.approx(max(left) / min(left)), "of the rests, not of the whole times"
    done = genba("bench", "-r", "2", "--start-up", "true", "sleep 0.001", cwd=tmp_path)
    assert re.search(r"^Beyond the start-up .*\n +\S+ \S+ ± +\S+ \S+    true, the start-up\n +\S+ \S+ ± +\S+ \S+    sleep 0.001, the rest\Z", done.stdout.strip(), re.MULTILINE), done.stdout
    for refused in (["--py"], ["--sequential"], ["--setup", "echo {n}", "-L", "n", "1,2"]):
        done = genba("bench", "--start-up", "true", *refused, "true {n}", cwd=tmp_path)
        assert done.returncode == 2 and "--start-up" in done.stderr, done
    # What is given for each command is not the start-up's.
    (tmp_path / "log").unlink()
    exported(tmp_path, "-r", "2", "--start-up", "echo start >> log", "--prepare", "echo for-a >> log", "--prepare", "echo for-b >> log", "echo a >> log", "echo b >> log")
    assert (tmp_path / "log").read_text().split() == "for-a a for-b b start start for-b b for-a a".split()


def test_instructions_are_those_of_the_commands_alone(tmp_path: Path) -> None:
    done = genba("bench", "-r", "2", "--instructions", "true")
    # The processor needs no other program.
    if shutil.which("valgrind") is None and "counted by the processor" not in done.stdout:
        assert done.returncode == 2 and "hint: apt-get install valgrind" in done.stderr, done
        pytest.skip("valgrind is not installed here")
    loop = "i=0; while [ $i -lt {n} ]; do i=$((i+1)); done"
    command = f"sh -c '{loop}'"
    page = exported(tmp_path, "-r", "2", "--instructions", "-L", "n", "1000,21000,41000", command)
    few, some, many = (one["genba"]["instructions"] for one in page["results"])
    # Each turn of the loop has as many; what the shell itself took is not in it.
    assert 0 < few < some < many and abs((many - some) - (some - few)) < 0.05 * (some - few), (few, some, many)
    assert list(tmp_path.iterdir()) == [tmp_path / "bench.json"], "nothing of callgrind's is left"
    done = genba("bench", "-N", "-r", "2", "--instructions", "true", cwd=tmp_path)
    assert re.search(r"^  Instructions: +[\d,]+ +\[of one run, counted by (?:valgrind|the processor) in user mode\]$", done.stdout, re.MULTILINE), done.stdout
    # What was measured is shown though the further run fails: the command runs twice and no more.
    done = genba("bench", "-r", "2", "--instructions", "echo >> runs; [ $(wc -l < runs) -le 2 ]", cwd=tmp_path)
    assert done.returncode == 1 and "Time (mean" in done.stdout and "ended with exit code 1" in done.stderr, done


def test_runs_go_forward_and_backward(tmp_path: Path) -> None:
    note = "echo {letter} >> log"
    exported(tmp_path, "-w", "1", "-r", "4", "-p", "echo before >> log", "-C", "echo after >> log", "-s", "echo setup >> log", "-c", "echo cleanup >> log",
             "-L", "letter", "A,B", note)
    log = (tmp_path / "log").read_text().split()
    assert (log[0], log[-1], log.count("setup"), log.count("cleanup")) == ("setup", "cleanup", 1, 1)
    rest = log[1:-1]
    assert set(rest[::3]) == {"before"} and set(rest[2::3]) == {"after"}
    assert "".join(rest[1::3]) == "AB" + "ABBAABBA"
    # A setup of its own for each command: one after the other, as hyperfine does.
    (tmp_path / "log").unlink()
    done = genba("bench", "-r", "2", "-s", "echo setup {letter} >> log", "-L", "letter", "A,B", note, cwd=tmp_path)
    assert (tmp_path / "log").read_text().split() == ["setup", "A", "A", "A", "setup", "B", "B", "B"]
    assert "one after the other" in done.stderr and "one after the other" in done.stdout, done


def test_what_the_kernel_counts(tmp_path: Path) -> None:
    (tmp_path / "greedy.py").write_text(GREEDY)
    page = exported(tmp_path, "-r", "2", "-N", f"{sys.executable} greedy.py", f"sh -c '{sys.executable} greedy.py; exit 0'", "true")
    own, child, nothing = page["results"]
    # A child's child counts as the child itself: the shell waited for it.
    for result in (own, child):
        assert all(64 << 20 < size < 128 << 20 for size in result["memory_usage_byte"]), result
        assert all(16384 <= faults < 2 * 16384 for faults in result["genba"]["minor_faults"]), result
        assert all(switches >= 20 for switches in result["genba"]["voluntary_switches"]), result
        assert result["user"] > 0, result
    # What is below genba's own memory, in which each program begins, is told as a bound.
    floor = page["genba"]["memory_floor_byte"]
    assert 0 < max(nothing["memory_usage_byte"]) <= floor < 64 << 20, nothing
    assert "Memory (max):        ≤ " in genba("bench", "-N", "-r", "1", "true").stdout


def test_a_known_difference_is_shown_and_fails(tmp_path: Path) -> None:
    # Many times what a busy machine adds to one of the runs.
    short, long = "sleep 0.004", "sleep 0.3"
    options = ["--fail-if-slower", "3%", "-N", "--export-json", "bench.json"]
    done = genba("bench", *options, "-r", "8", short, long, cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("error: slower by more than 3 %, and certainly so\n  sleep 0.3: "), done
    found = json.loads((tmp_path / "bench.json").read_text())["results"][1]["genba"]["relative"]
    assert found["shown"] and 1.03 < found["low"] <= found["ratio"] <= found["high"] and found["to"] == short, found
    assert exported(tmp_path, *options[:3], "-r", "8", long, short), "faster is no failure"
    # Few rounds are never certain.
    done = genba("bench", "-N", "-r", "4", short, long)
    assert done.returncode == 0 and "8 rounds or more give an interval" in done.stdout, done


def test_too_few_runs_are_no_claim_and_do_not_pass(tmp_path: Path) -> None:
    short, long = "sleep 0.004", "sleep 0.05"
    page = exported(tmp_path, "-N", "-r", "1", "--sequential", short, long)
    found = next(result["genba"]["relative"] for result in page["results"] if result["genba"]["relative"])
    assert not found["shown"] and found["low"] is None and found["high"] is None, found
    done = genba("bench", "-N", "-r", "1", "--sequential", short, long)
    assert done.returncode == 0 and "\n    too few runs to tell from sleep " in done.stdout, done
    assert "(2 runs or more of each command give an interval)" in done.stdout, done
    fails = ["bench", "--fail-if-slower", "3%", "-N"]
    # Nothing is measured where nothing could be judged.
    for words, needed in ((["-r", "4"], 8), (["-M", "1", "--sequential"], 2)):
        done = genba(*fails, *words, short, "touch measured", cwd=tmp_path)
        assert done.returncode == 2 and f"of the {needed} runs that it needs" in done.stderr and f"hint: --runs {needed}" in done.stderr, done
    assert not (tmp_path / "measured").exists()
    # The file has a single run of one command, and none of the other.
    exported(tmp_path, "-N", "-r", "1", short)
    done = genba(*fails, "-r", "2", "--against", "bench.json", short, cwd=tmp_path)
    assert done.returncode == 2 and "2 runs or more in each give an interval" in done.stdout, done
    assert done.stderr.startswith("error: --fail-if-slower could judge nothing\n  sleep 0.004: too few runs") and "hint: " in done.stderr, done
    done = genba(*fails, "-r", "2", "--against", "bench.json", long, cwd=tmp_path)
    assert done.returncode == 2 and "sleep 0.05: no earlier session has it" in done.stderr, done
    (tmp_path / "slow.json").write_text(json.dumps({"results": [{"command": short, "times": [1000, 1001]}]}))
    done = genba(*fails, "-r", "2", "--against", "slow.json", short, long, cwd=tmp_path)
    assert done.returncode == 0 and "warning: --fail-if-slower did not judge sleep 0.05: too few runs" in done.stderr, done


def test_against_earlier_files(tmp_path: Path) -> None:
    for name, seconds in (("fast", 0.001), ("slow", 10.0)):
        page = {"results": [{"command": "sleep 0.01", "times": [seconds, seconds * 1.01, seconds]}]}
        (tmp_path / name).write_text(json.dumps(page))
    words = ["bench", "-N", "-r", "3", "--fail-if-slower", "3%", "sleep 0.01"]
    done = genba(*words, "--against", "slow", cwd=tmp_path)
    assert done.returncode == 0 and "times as long as in 1 session before" in done.stdout and "2.5 % are assumed" in done.stdout, done
    done = genba(*words, "--against", "fast", cwd=tmp_path)
    assert done.returncode == 1 and "at other times" in done.stderr, done
    (tmp_path / "fast").write_text("[]")
    done = genba(*words, "--against", "fast", cwd=tmp_path)
    assert done.returncode == 1 and "no export of a bench" in done.stderr and "hint: " in done.stderr, done


def test_a_command_that_changes_its_own_input_is_named(tmp_path: Path) -> None:
    # Each run sleeps 40 ms longer than the one before it. What a busy machine makes of that is judged by the times that it took.
    grows = "echo >> n; sleep $(awk 'END { print NR * 0.04 }' n)"
    done = genba("bench", "-r", "8", "--export-json", "bench.json", grows, cwd=tmp_path)
    result = json.loads((tmp_path / "bench.json").read_text())["results"][0]
    times, trend = result["times"], result["genba"]["trend"]
    ranks = [sorted(times).index(time) for time in times]
    correlation = 1 - 6 * sum((rank - run) ** 2 for run, rank in enumerate(ranks)) / (8 * (8**2 - 1))
    # Of the 40,320 orders of eight, 16 are within one exchange of neighbours (0.976) of a rise or a fall, and 46 within two. Two runs are a third of eight.
    if correlation < 0.97 or sum(times[-2:]) < 1.05 * sum(times[:2]):
        assert trend is None and "runs become" not in done.stdout, done
    else:
        assert abs(trend["correlation"] - correlation) < 1e-9 and trend["p"] < 0.001, trend
        assert (trend["first_third"], trend["last_third"]) == pytest.approx((sum(times[:2]) / 2, sum(times[-2:]) / 2)), trend
        assert "\n  warning: runs become slower, from " in done.stdout and "--prepare CMD" in done.stdout, done


def test_other_exports(tmp_path: Path) -> None:
    done = genba(
        "bench", "-N", "-r", "2", "--export-csv", "a.csv", "--export-markdown", "-", "--export-asciidoc", "a.adoc", "--export-orgmode", "a.org",
        "-L", "n", "1,2", "seq {n}", cwd=tmp_path,
    )
    assert done.returncode == 0 and done.stdout.startswith("| Command | Mean ["), done
    assert "Benchmark 1: seq 1" in done.stderr
    rows = list(csv.DictReader((tmp_path / "a.csv").open()))
    assert [(row["command"], row["parameter_n"]) for row in rows] == [("seq 1", "1"), ("seq 2", "2")]
    assert (tmp_path / "a.adoc").read_text().count("`seq") == 2 and (tmp_path / "a.org").read_text().count("=seq") == 2


def in_order(text: str) -> list[str]:
    return re.findall(r"sleep 0\.\d+", text)


def test_the_order_of_the_summary_and_of_tables(tmp_path: Path) -> None:
    # So far apart that a machine which stands still for half a second changes no order.
    typed = ["sleep 0.6", "sleep 0.01", "sleep 0.3"]
    by_time = ["sleep 0.01", "sleep 0.3", "sleep 0.6"]
    others = {"auto": by_time[1:], "command": ["sleep 0.6", "sleep 0.3"], "mean-time": by_time[1:]}
    for sort, summary in others.items():
        done = genba("bench", "-N", "-r", "2", "--sort", sort, "--export-markdown", "a.md", "--export-json", "a.json", *typed, cwd=tmp_path)
        blocks, _, end = done.stdout.partition("\nSummary ")
        assert in_order(blocks) == typed and in_order(end) == ["sleep 0.01", *summary], (sort, done)
        assert in_order((tmp_path / "a.md").read_text()) == (by_time if sort == "mean-time" else typed), sort
        assert [one["command"] for one in json.loads((tmp_path / "a.json").read_text())["results"]] == typed, sort


def test_the_reference_is_measured_and_compared_with(tmp_path: Path) -> None:
    # Without it the fastest would be the one.
    page = exported(tmp_path, "-N", "-r", "2", "--reference", "sleep 0.3", "--reference-name", "old", "sleep 0.01", "sleep 0.6")
    assert [(one["command"], len(one["times"])) for one in page["results"]] == [("old", 2), ("sleep 0.01", 2), ("sleep 0.6", 2)], page
    own, shorter, longer = (one["genba"]["relative"] for one in page["results"])
    assert own is None and shorter["to"] == longer["to"] == "old" and shorter["ratio"] < 1 < longer["ratio"], page


def test_exit_codes_that_are_taken(tmp_path: Path) -> None:
    page = exported(tmp_path, "-r", "1", "--ignore-failure=3,7", "exit 3", "exit 7", "true")
    assert [one["exit_codes"] for one in page["results"]] == [[3], [7], [0]], page
    done = genba("bench", "-r", "1", "--ignore-failure=3,7", "exit 4", cwd=tmp_path)
    assert done.returncode == 1 and "`exit 4` ended with exit code 4 in run 1" in done.stderr, done


def test_where_commands_read_and_write(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("of the file\n")
    done = genba("bench", "-r", "2", "--input", "in", "--output", "./one", "--output", "./two", "cat", "cat; echo two; echo lost >&2", cwd=tmp_path)
    assert done.returncode == 0, done
    # Each run begins the file anew, and reads its input from the beginning.
    assert ((tmp_path / "one").read_text(), (tmp_path / "two").read_text()) == ("of the file\n", "of the file\ntwo\n")


REFUSED = {
    "exit 7": "`exit 7` ended with exit code 7 in run 1",
    "-w 1|kill -9 $$": "ended with exit code 137 (signal 9) in warm-up 1",
    "nothing-of-that-name": "sh found no such command",
    "-N|nothing-of-that-name": "cannot start `nothing-of-that-name`: no such file",
    "-N|./notes": "cannot start `./notes`: permission denied",
    "-N|echo 'a": "cannot split `echo 'a` into words",
    "-p false|true": "the preparation command ended with exit code 1",
    "-P n 1 10000|true": "10000 values from 1 to 10000",
    "-m 5 -M 3|true": "--min-runs 5 is more than --max-runs 3",
    "-p a -p b|true|true|true": "2 times --prepare for 3 commands",
    "--fail-if-slower 3%|true": "--fail-if-slower has nothing to compare with",
    "--export-json none/x|true": "cannot write none/x",
    "--input nothing|cat": "cannot read the input nothing",
    "--shell nothing-of-that-name|true": "cannot start nothing-of-that-name",
    "--export-json o --export-csv o|true": "--export-json and --export-csv both write o",
    "--export-csv o --export-markdown ./o|true": "--export-csv and --export-markdown both write ./o",
    "--export-html o --export-json o|true": "--export-json and --export-html both write o",
    "--export-html none/x|true": "cannot write none/x",
    "--py|1 +": "the snippet `1 +` failed in calibration",
    "--py --python nothing|1": "--python nothing: no such interpreter",
}


@pytest.mark.parametrize("line", REFUSED)
def test_bad_input(line: str, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("nothing to run\n")
    words = line.split("|") if "|" in line else ["", line]
    done = genba("bench", "--export-orgmode", "new", *words[0].split(), *words[1:], cwd=tmp_path)
    assert done.returncode in (1, 2) and done.stdout == "", done
    assert [path.name for path in tmp_path.iterdir()] == ["notes"], "an export of nothing stays behind"
    assert done.stderr.startswith("error: ") and REFUSED[line] in done.stderr and "hint: " in done.stderr, done


# The largest of all processes below it, in kB. A process of its own has no other children.
LARGEST = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"


def test_output_is_not_kept() -> None:
    command = [sys.executable, "-c", LARGEST, str(binary()), "bench", "-N", "-r", "2", "--output", "pipe", "head -c 200000000 /dev/zero"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 1_000 < int(done.stdout) < 100_000, done


def test_what_was_there_stays_until_something_takes_its_place(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("of yesterday")
    done = genba("bench", "-N", "-r", "3", "--export-json", "old", "--export-csv", "new", "false", cwd=tmp_path)
    assert done.returncode == 1 and (tmp_path / "old").read_text() == "of yesterday", done
    assert not (tmp_path / "new").exists()
    # No plain file: both may write there.
    done = genba("bench", "-N", "-r", "1", "--export-json", "/dev/null", "--export-csv", "/dev/null", "true")
    assert done.returncode == 0, done


def test_a_failure_keeps_what_was_measured(tmp_path: Path) -> None:
    nine = "echo run >> log; test $(wc -l < log) -lt 9"
    page = exported(tmp_path, "-r", "9", "-c", "echo cleanup >> log", nine, code=1)
    assert [len(result["times"]) for result in page["results"]] == [8], page
    assert page["genba"]["failed"] == f"`{nine}` ended with exit code 1 in run 9" and not page["genba"]["interrupted"], page
    assert (tmp_path / "log").read_text().split() == ["run"] * 9 + ["cleanup"]
    (tmp_path / "log").unlink()
    done = genba("bench", "-r", "9", "-c", "echo lost; exit 3", nine, cwd=tmp_path)
    assert done.returncode == 1 and "    8 runs\n" in done.stdout, done
    assert done.stderr.startswith(f"error: `{nine}` ended with exit code 1 in run 9\n") and "hint: " in done.stderr, done
    assert "\n  what was measured until then is shown\n" in done.stderr and "afterwards the cleanup command ended with exit code 3" in done.stderr, done
    # All was measured: only the cleanup failed.
    page = exported(tmp_path, "-r", "2", "-c", "exit 3", "true", code=1)
    assert len(page["results"][0]["times"]) == 2 and page["genba"]["failed"] == "the cleanup command ended with exit code 3", page
    # What was not set up is not cleaned up.
    done = genba("bench", "-r", "2", "-s", "exit 4", "-c", "touch cleaned", "true", cwd=tmp_path)
    assert done.returncode == 1 and done.stdout == "" and not (tmp_path / "cleaned").exists(), done


def a_pipe(path: Path) -> Path:
    """What a command writes there comes when it is read: nobody waits and looks. A command that never writes makes the test hang, and pytest's limit ends it."""
    os.mkfifo(path)
    return path


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path) -> None:
    # Of the second round the first command is B, which then never ends.
    hangs_here = a_pipe(tmp_path / "hangs")
    hangs = "test -e second && { echo $$ > hangs; exec sleep 600; }; touch second"
    around = ["-s", "touch log", "-c", "echo cleanup >> log"]
    command = [str(binary()), "bench", "--export-json", "bench.json", "-r", "9", *around, "true", hangs]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as bench:
        hanging = hangs_here.read_text().strip()
        bench.send_signal(signal.SIGINT)
        stdout, stderr = bench.communicate(timeout=60)
    assert bench.returncode == 130 and stderr.startswith("error: interrupted after 1 of 9 rounds"), stderr
    assert "Benchmark 1: true" in stdout, stdout
    assert [len(result["times"]) for result in json.loads((tmp_path / "bench.json").read_text())["results"]] == [1, 1]
    assert not Path(f"/proc/{hanging}").exists()
    assert (tmp_path / "log").read_text() == "cleanup\n"


@pytest.mark.parametrize("how", ["interrupted", "failed"])
def test_one_after_the_other_keeps_the_runs_of_the_first(how: str, tmp_path: Path) -> None:
    # The second command has not run once.
    hangs = a_pipe(tmp_path / "hangs")
    second = "echo $$ > hangs; exec sleep 600" if how == "interrupted" else "exit 5"
    command = [str(binary()), "bench", "--export-json", "bench.json", "-r", "3", "--sequential", "true", second]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as bench:
        if how == "interrupted":
            hangs.read_text()
            bench.send_signal(signal.SIGINT)
        stdout, stderr = bench.communicate(timeout=60)
    words, code = {"interrupted": ("interrupted after 3 of 6 runs", 130), "failed": ("`exit 5` ended with exit code 5 in run 1", 1)}[how]
    assert bench.returncode == code and stderr.startswith(f"error: {words}\n"), stderr
    assert "Benchmark 1: true" in stdout and "    3 runs\n" in stdout, stdout
    page = json.loads((tmp_path / "bench.json").read_text())
    assert [len(result["times"]) for result in page["results"]] == [3] and page["genba"]["rounds"] == 3, page


def test_a_second_ctrl_c_ends_the_cleanup(tmp_path: Path) -> None:
    # The first ignores SIGINT, so genba kills it; what begins then is not killed for it.
    pipes = {name: a_pipe(tmp_path / name) for name in ("run", "cleanup")}
    stays = "trap '' INT; echo run > run; sleep 600; true"
    cleans = "echo $$ > cleanup; exec sleep 600"
    command = [str(binary()), "bench", "--export-json", "bench.json", "-r", "9", "-c", cleans, stays]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as bench:
        for name in pipes:
            said = pipes[name].read_text().strip()
            bench.send_signal(signal.SIGINT)
        stdout, stderr = bench.communicate(timeout=60)
    assert bench.returncode == 130 and stderr.startswith("error: interrupted before anything was measured"), stderr
    assert stdout == "" and not (tmp_path / "bench.json").exists()
    assert not Path(f"/proc/{said}").exists()


def test_snippets_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = exported(
        tmp_path, "--py", "-r", "2", "--python", sys.executable, "--setup", "b = bytes(1_000_000); i = 7; print(hash('x'), file=open('hashes', 'a'))",
        "b[i:][:2]", "b[i:i+2]",
    )
    whole, short = page["results"]
    # A copy of a million bytes beside one of two.
    assert whole["mean"] > 20 * short["mean"] and short["genba"]["loops"] > whole["genba"]["loops"] > 1, page
    # Two statements, each in a process for the loops' length and in two that count: six that hash in their own way.
    assert len(set((tmp_path / "hashes").read_text().split())) == 6
    # Each statement in each interpreter.
    other = tmp_path / "other"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} -X other "$@"\n')
    other.chmod(0o755)
    note = "import sys; print(*sys._xoptions, file=open('ran', 'a'))"
    done = genba("bench", "--py", "-r", "1", "--python", sys.executable, "--python", other, "-s", note, "pass", cwd=tmp_path)
    assert [done.stdout.count(f"{python}: pass") for python in (sys.executable, other)] == [2, 2], done
    assert set((tmp_path / "ran").read_text().splitlines()) == {"", "other"}
    # Where all processes hash alike, genba warns; CPython takes these two for not set.
    for seed, is_fixed in (("0", True), ("random", False), ("", False)):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        done = genba("bench", "--py", "-r", "1", "--python", sys.executable, "pass")
        assert done.stderr.startswith("warning: PYTHONHASHSEED is set: all processes hash alike") == is_fixed, done
    # As timeit's, several of --setup are lines of one code.
    (tmp_path / "hashes").unlink()
    done = genba("bench", "--py", "-r", "1", "-s", "if True:", "-s", "    a = 1", "-s", "b = a + 1", "assert b == 2", cwd=tmp_path)
    assert done.returncode == 0 and "Benchmark 1: assert b == 2\n" in done.stdout, done
    done = genba("bench", "-r", "1", "-s", "touch one", "-s", "touch two", "true", cwd=tmp_path)
    assert done.returncode == 2 and "'--setup <CMD>' cannot be used multiple times" in done.stderr and "hint: " in done.stderr, done
    assert {path.name for path in tmp_path.iterdir()} == {"bench.json", "other", "ran"}, "refused before anything ran"


def test_a_snippet_that_ends_its_process_is_no_run(tmp_path: Path) -> None:
    # The third process, of the second run, ends well and has timed nothing.
    setup = "import os; open('ran', 'a').write(f'{os.getpid()} '); len(set(open('ran').read().split())) > 2 and os._exit(0)"
    page = exported(tmp_path, "--py", "-r", "3", "--python", sys.executable, "-s", setup, "pass", code=1)
    assert [len(result["times"]) for result in page["results"]] == [1], page
    assert page["genba"]["failed"].endswith(" gave no times in run 2"), page


def test_why_names_the_expression(tmp_path: Path) -> None:
    work = "def work(b):\n    n = 0\n    for i in range(0, len(b), {step}):\n        n += len(b[i:]{rest})\n    return n\nwork(bytes(200_000))\n"
    (tmp_path / "old.py").write_text(work.format(step=4, rest="[:2]"))
    (tmp_path / "new.py").write_text(work.format(step=4, rest="").replace("b[i:]", "b[i:i + 2]"))
    words = ["-r", "2", "-C", "echo done >> log", f"{sys.executable} old.py", f"{sys.executable} new.py"]
    done = genba("bench", "--why", *words, cwd=tmp_path)
    assert done.returncode == 0, done
    measured, why = done.stdout.split("\nWhy: from ")
    assert "Benchmark 2" in measured and why.startswith(f"`{words[-2]}` to `{words[-1]}`, 3 recordings of each\n"), done.stdout
    first = next(line for line in why.splitlines() if "−" in line and "interval" not in line and "B takes" not in line)
    assert "old.py" in first and "new.py" not in first, why
    assert "b[i:]" in first and "only in A" in first, why
    # 2 measured runs and 3 recorded ones of each; nothing is left behind.
    assert (tmp_path / "log").read_text().count("done") == 10
    assert {path.name for path in tmp_path.iterdir()} == {"old.py", "new.py", "log"}
    done = genba("bench", "--why=kept", "--export-json", "-", *words, cwd=tmp_path)
    assert done.returncode == 0 and len(json.loads(done.stdout)["results"]) == 2 and "\nWhy: from " in done.stderr, done
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [f"{command}-{run}.genba" for command in (1, 2) for run in (1, 2, 3)]
    without = genba("bench", "--why", "-r", "2", "true", "false || true", cwd=tmp_path)
    assert without.returncode == 1 and "Benchmark 2" in without.stdout and "error: the commands could not be recorded\n" in without.stderr, without
    again = genba("bench", "--why=kept", *words, cwd=tmp_path)
    assert again.returncode == 2 and "kept is not empty" in again.stderr, again


def test_a_terminal_sees_how_far_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "held")
    command = [str(binary()), "bench", "-N", "-r", "1", "cat held"]
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm"}
    screen, terminal = os.openpty()
    bench = subprocess.Popen(command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=terminal)
    try:
        seen = until(screen, b"run 1 of 1: cat held")
        (tmp_path / "held").write_text("")
        seen += until_the_end_of(bench, screen, terminal)
        stdout, _ = bench.communicate()
    finally:
        bench.kill()
    assert bench.returncode == 0 and stdout.startswith(b"Benchmark 1: cat held\n"), (seen, stdout)


def at_a_terminal(command: list[str], folder: Path) -> tuple[int, bytes]:
    """Its exit code, and what it wrote on its controlling terminal."""
    child, terminal = pty.fork()
    if child == 0:
        try:
            os.chdir(folder)
            os.execve(command[0], command, {"PATH": os.environ["PATH"], "TERM": "xterm"})
        finally:
            os._exit(127)
    try:
        seen = b""
        # Linux says EIO where the last process has closed its end.
        with contextlib.suppress(OSError):
            while piece := os.read(terminal, 4096):
                seen += piece
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), b" ".join(seen.split())
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(terminal)


def test_a_command_that_asks_at_the_terminal_is_not_waited_for(tmp_path: Path) -> None:
    code, seen = at_a_terminal([str(binary()), "bench", "--prepare", "touch ran; read answer < /dev/tty", "true"], tmp_path)
    assert code == 1 and (tmp_path / "ran").exists(), seen
    assert b"`touch ran; read answer < /dev/tty` (--prepare) wants the terminal" in seen and b"sudo -v" in seen, seen


# As sudo does.
ASKS_AS_ROOT = """
#include <fcntl.h>
#include <unistd.h>
int main(void) {
    char answer;
    if (setresuid(0, 0, 0) != 0)
        return 3;
    return read(open("/dev/tty", O_RDWR), &answer, 1) == 1 ? 0 : 4;
}
"""


def test_a_program_of_another_user_that_asks_at_the_terminal_is_not_waited_for() -> None:
    if os.geteuid() != 0 or not all(map(shutil.which, ("cc", "setpriv"))):
        pytest.skip("makes a setuid program: for root, cc and setpriv")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "asks.c").write_text(ASKS_AS_ROOT)
        subprocess.run(["cc", "-o", folder / "asks", folder / "asks.c"], check=True)
        (folder / "asks").chmod(0o4755)
        shutil.copy2(binary(), folder / "genba")
        dropped = [shutil.which("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups", f"{folder}/genba"]
        code, seen = at_a_terminal([*dropped, "bench", "-N", f"{folder}/asks"], folder)
    assert code == 1 and b"/asks` wants the terminal" in seen, seen
