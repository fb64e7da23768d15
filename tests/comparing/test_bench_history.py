"""`genba bench --history`: one file that grows by each session, and what a session is compared with. No test asserts a duration: the sessions before
are made up, a thousand times faster or slower than any machine."""

import fcntl
import json
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

from recording import binary, genba

COMMAND = "sleep 0.01"
FAST, SLOW = 0.00001, 1000.0


def session(command: str, seconds: float) -> str:
    return json.dumps({"results": [{"command": command, "times": [seconds, seconds * 1.01, seconds]}]}) + "\n"


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "bench.jsonl").read_text().splitlines()]


def bench(folder: Path, *words: str):
    return genba("bench", "-N", "-r", "3", "--history", "bench.jsonl", *words, cwd=folder)


def test_a_history_grows_by_a_line_for_each_session(tmp_path: Path) -> None:
    began = int(time.time())
    done = bench(tmp_path, COMMAND)
    assert done.returncode == 0 and "no session of these commands in bench.jsonl yet" in done.stderr, done
    assert "At other times" not in done.stdout, done
    # Another command has no session yet, though the file has one.
    done = bench(tmp_path, "sleep 0.02")
    assert done.returncode == 0 and "no session of these commands in bench.jsonl yet" in done.stderr, done
    done = bench(tmp_path, COMMAND)
    assert done.returncode == 0 and done.stderr == "" and "1 session before" in done.stdout, done
    found = lines(tmp_path)
    assert [[one["command"] for one in line["results"]] for line in found] == [[COMMAND], ["sleep 0.02"], [COMMAND]]
    assert [len(line["results"][0]["times"]) for line in found] == [3, 3, 3]
    assert [(line["results"][0]["genba"]["against"] or {}).get("sessions") for line in found] == [None, None, 1]
    assert began <= found[0]["ended_unix_seconds"] <= found[2]["ended_unix_seconds"] <= time.time()


def test_without_a_style_the_first_session_says_nothing(tmp_path: Path) -> None:
    done = bench(tmp_path, "--style", "none", COMMAND)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "") and len(lines(tmp_path)) == 1, done


def test_a_command_that_no_session_has_needs_its_name_and_no_more_runs(tmp_path: Path) -> None:
    (tmp_path / "bench.jsonl").write_text(session("another", FAST))
    words = ("-N", "-r", "8", "--style", "none", "--fail-if-slower", "10%", "--against", "bench.jsonl", COMMAND)
    done = genba("bench", *words, cwd=tmp_path)
    assert done.returncode == 2 and f"\n  {COMMAND}: no earlier session has it\n" in done.stderr, done
    assert done.stderr.endswith("\nhint: earlier sessions have `another`: -n NAME gives a command one of these names\n"), done


@pytest.mark.parametrize("last", ["slow", "fast"])
def test_the_last_session_of_the_command_counts(last: str, tmp_path: Path) -> None:
    before = [session(COMMAND, FAST), session(COMMAND, SLOW)]
    before = [*(before if last == "slow" else reversed(before)), session("another", FAST)]
    (tmp_path / "bench.jsonl").write_text("".join(before))
    done = bench(tmp_path, "--fail-if-slower", "3%", COMMAND)
    if last == "slow":
        assert done.returncode == 0 and "1 session before" in done.stdout and len(lines(tmp_path)) == 4, done
    else:
        assert done.returncode == 1 and "at other times" in done.stderr, done
        assert (tmp_path / "bench.jsonl").read_text() == "".join(before), "what fails is no measure for the next session"
    # Read only.
    done = genba("bench", "-N", "-r", "3", "--against", "bench.jsonl", COMMAND, cwd=tmp_path)
    assert done.returncode == 0 and "1 session before" in done.stdout and len(lines(tmp_path)) == (4 if last == "slow" else 3), done


def test_a_first_session_passes(tmp_path: Path) -> None:
    """In a build server the same line is typed each time."""
    done = bench(tmp_path, "--fail-if-slower", "3%", COMMAND)
    assert done.returncode == 0 and len(lines(tmp_path)) == 1, done


def test_what_did_not_end_well_is_not_added(tmp_path: Path) -> None:
    fails = "sh -c 'echo >> n; test $(wc -l < n) -le 2'"
    done = bench(tmp_path, fails)
    assert done.returncode == 1 and "2 runs" in done.stdout, done
    assert not (tmp_path / "bench.jsonl").exists(), "no empty file stays behind"
    (tmp_path / "bench.jsonl").write_text(session(fails, SLOW))
    done = bench(tmp_path, fails)
    assert done.returncode == 1 and (tmp_path / "bench.jsonl").read_text() == session(fails, SLOW), done


def test_a_file_that_goes_away_meanwhile_is_made_anew(tmp_path: Path) -> None:
    """Another bench takes the file that it made away where its own session fails; a checkout puts another one there."""
    done = bench(tmp_path, "rm -f bench.jsonl")
    assert done.returncode == 0 and len(lines(tmp_path)) == 1, done
    (tmp_path / "other").write_text(session("another", FAST))
    done = bench(tmp_path, "cp other bench.jsonl")
    assert done.returncode == 0 and [line["results"][0]["command"] for line in lines(tmp_path)] == ["another", "cp other bench.jsonl"], done


def test_a_last_line_without_an_end_gets_one(tmp_path: Path) -> None:
    (tmp_path / "bench.jsonl").write_text(session(COMMAND, SLOW).rstrip("\n"))
    done = bench(tmp_path, COMMAND)
    assert done.returncode == 0 and "1 session before" in done.stdout and len(lines(tmp_path)) == 2, done


def on_a_full_disk(folder: Path, option: str) -> subprocess.CompletedProcess:
    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))

    command = [binary(), "bench", "-N", "-r", "3", option, "bench.jsonl", COMMAND]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, preexec_fn=limited)


def test_on_a_full_disk_the_history_stays_as_it_was(tmp_path: Path) -> None:
    history = tmp_path / "bench.jsonl"
    for before in ("", session(COMMAND, SLOW)):
        if before:
            history.write_text(before)
        done = on_a_full_disk(tmp_path, "--history")
        assert done.returncode == 2 and "error: cannot write bench.jsonl: " in done.stderr and "- for stdout" not in done.stderr, done
        assert "Time (mean" in done.stdout and (history.read_text() if history.exists() else "") == before, done


def test_on_a_full_disk_what_an_export_would_hold_is_shown(tmp_path: Path) -> None:
    done = on_a_full_disk(tmp_path, "--export-json")
    assert done.returncode == 2 and "error: cannot write bench.jsonl: " in done.stderr and "Time (mean" in done.stdout, done
    assert not (tmp_path / "bench.jsonl").exists(), "half of an export"


def test_on_a_full_disk_an_export_of_before_stays(tmp_path: Path) -> None:
    export = tmp_path / "bench.jsonl"
    export.write_text("of yesterday")
    done = on_a_full_disk(tmp_path, "--export-json")
    assert done.returncode == 2 and "error: cannot write bench.jsonl: " in done.stderr and "Time (mean" in done.stdout, done
    assert [path.name for path in tmp_path.iterdir()] == ["bench.jsonl"] and export.read_text() == "of yesterday", done


def test_where_an_export_fails_the_rest_is_as_without_it(tmp_path: Path) -> None:
    done = bench(tmp_path, "--export-json", "/dev/full", COMMAND)
    assert done.returncode == 2 and "Time (mean" in done.stdout and len(lines(tmp_path)) == 1, done
    # What fails beside it is told before it.
    done = bench(tmp_path, "--export-json", "/dev/full", "sh -c 'echo >> n; test $(wc -l < n) -le 2'")
    first, last = (done.stderr.index(words) for words in (" ended with exit code 1 in run 3\n", "error: cannot write /dev/full: "))
    assert done.returncode == 2 and "2 runs" in done.stdout and first < last and len(lines(tmp_path)) == 1, done
    assert "\n  what was measured until then is shown\n" in done.stderr, done
    (tmp_path / "bench.jsonl").write_text(session(COMMAND, FAST))
    done = bench(tmp_path, "--export-json", "/dev/full", "--fail-if-slower", "3%", COMMAND)
    first, last = (done.stderr.index(words) for words in ("error: slower by more than ", "error: cannot write /dev/full: "))
    assert done.returncode == 2 and first < last and (tmp_path / "bench.jsonl").read_text() == session(COMMAND, FAST), done


def test_several_add_at_once(tmp_path: Path) -> None:
    command = [binary(), "bench", "-N", "-r", "3", "--history", "bench.jsonl"]
    benches = [subprocess.Popen([*command, f"sleep 0.0{number}"], cwd=tmp_path, stdout=subprocess.DEVNULL) for number in range(1, 5)]
    assert [one.wait(60) for one in benches] == [0] * 4
    assert sorted(line["results"][0]["command"] for line in lines(tmp_path)) == [f"sleep 0.0{number}" for number in range(1, 5)]


def test_a_line_that_another_one_adds_is_waited_for(tmp_path: Path) -> None:
    """Half of it is there when the bench begins."""
    line = session(COMMAND, SLOW)
    with (tmp_path / "bench.jsonl").open("w") as history:
        fcntl.flock(history, fcntl.LOCK_EX)
        history.write(line[:20])
        history.flush()
        command = [binary(), "bench", "-N", "-r", "3", "--history", "bench.jsonl", COMMAND]
        waits = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            waits.wait(0.5)
        history.write(line[20:])
    out, err = waits.communicate(timeout=60)
    assert waits.returncode == 0 and "1 session before" in out and err == "" and len(lines(tmp_path)) == 2, (out, err)


REFUSED = {
    "--history damaged": "damaged is no export of a bench: not JSON (",
    "--history none/x": "cannot write none/x",
    "--history -": "--history takes a file, and - is stdout",
    "--history h --export-json ./h": "--export-json and --history both write h",
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_history_that_is_none(words: str, tmp_path: Path) -> None:
    damaged = session(COMMAND, 1.0) + session(COMMAND, 1.0)[:-20]
    (tmp_path / "damaged").write_text(damaged)
    done = genba("bench", "-N", "-r", "2", *words.split(), "touch measured", cwd=tmp_path)
    assert done.returncode in (1, 2) and done.stdout == "", done
    assert done.stderr.startswith("error: ") and REFUSED[words] in done.stderr and "hint: " in done.stderr, done
    if "damaged" in words:
        assert "line 2" in done.stderr, done
    assert [path.name for path in tmp_path.iterdir()] == ["damaged"] and (tmp_path / "damaged").read_text() == damaged
