"""The bench from outside: one round of two works, every file it writes; the quick goals in long runs (GENBA_SOAK=1)."""

import json
import os
import shutil
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

import commands
import machine
import ways
from goals import made, snippets, trace, turns

HERE = Path(__file__).resolve().parent
# A run of the bench that judges nothing but that it ran.
in_long_runs = pytest.mark.skipif(os.environ.get("GENBA_SOAK") != "1", reason="GENBA_SOAK=1: what it prints is for `make bench` to judge")


def bench(*flags: str, folder: Path, **environment: str) -> tuple[str, dict, str]:
    """Words, JSON, Markdown."""
    files = ["--json", str(folder / "bench.json"), "--markdown", str(folder / "bench.md")]
    done = subprocess.run(
        [sys.executable, str(HERE / "bench.py"), "--genba", ways.GENBA, *files, *flags],
        env={**os.environ, "XDG_CACHE_HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads((folder / "bench.json").read_text()), (folder / "bench.md").read_text()


def test_one_round_of_two_works(tmp_path: Path) -> None:
    figures = tmp_path / "figures"
    chosen = {"WORKS": "small_c_calls,sleeping_100", "WAYS": "empty 1 kHz,genba 1 kHz", "PARTS": "table"}
    words, data, page = bench(folder=tmp_path, ROUNDS="1", GENBA_FIGURES=str(figures), **chosen)
    assert [one["work"] for one in data["costs"]] == ["small_c_calls", "sleeping_100"]
    for one in data["costs"]:
        assert one["not_run"] == {}
        assert {way: len(rounds) for way, rounds in one["runs"].items()} == {"alone": 1, "empty 1 kHz": 1, "genba 1 kHz": 1}
        alone = one["runs"]["alone"]["0"]
        # The work lies within the run: on no clock can it have cost more.
        assert 0 < alone["cpu_ns"] <= alone["whole_cpu_ns"]
        assert alone["wall_ns"] <= alone["whole_wall_ns"]
    assert "sleeping_100" in words and "genba 1 kHz" in words
    assert page.count("genba 1 kHz") >= 2
    names = [json.loads(line)["figure"] for line in figures.read_text().splitlines()]
    assert "handler time × rate at 1 kHz, small_c_calls" in names
    assert names == [row["goal"] for row in data["goals"]]


def test_tracers_of_another_version_are_not_beside_cprofile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(ways, "venv", lambda name: sys.executable)
    monkeypatch.setattr(machine, "version", lambda python: "CPython 3.13.9" if python == sys.executable else "CPython 3.11.7")
    assert trace.peers(Namespace(python="python3.11"), tmp_path, tmp_path / "x.py") == {}
    assert "yappi is not measured: it has CPython 3.13, and cProfile runs on CPython 3.11" in capsys.readouterr().out
    assert set(trace.peers(Namespace(python=sys.executable), tmp_path, tmp_path / "x.py")) == {"yappi", "viztracer", "pyinstrument"}


def test_an_empty_profile_function_is_called_for_each_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = Namespace(python=sys.executable)
    monkeypatch.setattr(machine, "minor", lambda python: "CPython 3.13")
    assert trace.at_least(options, tmp_path, tmp_path / "x.py") == {}, "where there is sys.monitoring, nobody is a profile function"
    monkeypatch.setattr(machine, "minor", lambda python: "CPython 3.11")
    counting = "static int calls; int empty(void *own, void *frame, int what, void *argument) { calls += what == 0; return 0; }\n"
    monkeypatch.setattr(trace, "EMPTY", f"{counting}int told(void) {{ return calls; }}\n")
    library, program = tmp_path / "empty_profile.so", tmp_path / "traced.py"
    text = "told = ctypes.CDLL(LIBRARY).told\nbefore = told()\nf(), f(), f()\nprint(told() - before, sys.argv)\n"
    program.write_text(f"import ctypes, sys\ndef f(): pass\nLIBRARY = {str(library)!r}\n{text}")
    [command] = trace.at_least(options, tmp_path, program).values()
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"3 {[str(program)]}\n"), done.stderr


def test_a_work_that_takes_longer_than_under_cprofile_is_a_goal_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(options: Namespace, folder: Path, commands: dict[str, list[str]], rounds: int, environment: dict[str, str]) -> dict[str, list[float]]:
        assert [words[-2] for words in commands.values()] == ["deep_recursion"] * 3
        assert commands["alone"][:2] == [sys.executable, ways.WORKLOAD]
        return {"alone": [0.4] * rounds, "cProfile": [0.5] * rounds, "genba": [ours] * rounds}

    monkeypatch.setattr(trace, "in_turns", taken)
    for ours, is_met in ((0.51, False), (0.49, True)):
        row = trace.whole(Namespace(python=sys.executable, genba="genba"), tmp_path, "trace", "deep_recursion")
        assert row.met is is_met and row.yardstick.endswith(f"{ours:.3f} s, cProfile 0.500 s, alone 0.400 s"), row


def test_how_far_a_share_is_moved_is_that_of_several_rounds() -> None:
    def told(loop: float) -> dict[str, float]:
        return dict.fromkeys(trace.OWN, 0.1) | {"loop": loop}

    rounds = [{trace.SAMPLED: told(sampled), "cProfile": told(moved)} for sampled, moved in ((0.5, 0.3), (0.5, 0.3), (0.5, 0.2), (0.6, 0.3), (0.5, 0.3))]
    row = trace.distortion(rounds, "cProfile", "CPython 3.13")
    assert round(row.value, 6) == 20 and row.yardstick.startswith("20.0 to 30.0; loop is moved most; <module> 10 → 10 %,"), row


@in_long_runs
def test_start_up_and_memory(tmp_path: Path) -> None:
    _, data, _ = bench("--parts", "startup,memory", folder=tmp_path, ROUNDS="1")
    found = {row["goal"]: row for row in data["goals"]}
    wanted = ("start-up: wall added to python -c pass", "start-up: CPU added by each further process", "memory added: largest resident size")
    assert set(found) >= set(wanted)
    assert all(row["value"] > 0 for row in found.values() if row["goal"].startswith("memory"))


@in_long_runs
def test_looks_under_faulthandler(tmp_path: Path) -> None:
    _, data, _ = bench("--parts", "faulthandler", folder=tmp_path, ROUNDS="1")
    rows = [row for row in data["goals"] if row["goal"].startswith("a look under faulthandler")]
    assert {row["goal"].rpartition(", ")[2] for row in rows} == {"small_c_calls", "deep_recursion"}
    assert len(rows) == 4 and all(row["value"] > 0 for row in rows)


@in_long_runs
def test_the_handler_from_inside(tmp_path: Path) -> None:
    words, data, _ = bench("--parts", "handler", folder=tmp_path, HANDLER_RUNS="20")
    if not data["goals"]:
        pytest.skip(words.partition("not run: ")[2])
    assert [row["goal"].partition(":")[0] for row in data["goals"]] == ["handler"] * 4
    assert all(row["value"] > 0 for row in data["goals"])


@in_long_runs
def test_attaching_and_dumping(tmp_path: Path) -> None:
    _, data, _ = bench("--parts", "attach", folder=tmp_path, ATTACHES="2", DUMPS="2", ROUNDS="1")
    found = {row["goal"]: row for row in data["goals"]}
    stopped = [row for goal, row in found.items() if goal.startswith(("attach: a thread", "dump: a running thread"))]
    assert len(stopped) == 3 and all(0 <= row["value"] < 1_000 for row in stopped), stopped
    assert found["dump: time, median of 2"]["value"] > 0
    slowed = [row for goal, row in found.items() if goal.endswith("while attached, beside genba run")]
    assert len(slowed) == 4 and all(0.2 < row["value"] < 5 for row in slowed), slowed


@in_long_runs
def test_heaps_and_what_requests_lose(tmp_path: Path) -> None:
    _, data, _ = bench("--parts", "heap", folder=tmp_path, HEAPS="1")
    found = {row["goal"]: row for row in data["goals"]}
    assert sum(goal.startswith("heap: the copy of genba gc cycles") for goal in found) == 4
    slowest = found["heap: 99 % of requests take at most, one look after the other, 2 M objects"]
    assert slowest["value"] > 0 and "genba says: held for " in found["heap: requests lose with each look, 2 M objects"]["yardstick"], found


@in_long_runs
def test_a_server_that_is_looked_at(tmp_path: Path) -> None:
    _, data, _ = bench("--parts", "served_heap", folder=tmp_path, LOOKS="3")
    found = {row["goal"]: row for row in data["goals"]}
    slowest = found["heap: 99 % of requests to a server with threads take at most, 3 looks in a row"]
    lost = found["heap: requests to it lose with each of these looks"]
    assert slowest["value"] > 0 and " ms, alone " in slowest["yardstick"] and "resident memory grew by " in lost["yardstick"], found


@in_long_runs
def test_what_clients_of_real_servers_wait(tmp_path: Path) -> None:
    words, data, _ = bench("--parts", "out_of_band", folder=tmp_path, OUT_OF_BAND="20")
    goals = {row["goal"]: row for row in data["goals"]}
    for server in ("gunicorn", "uvicorn", "uWSGI"):
        row = goals.get(f"genba.gc: 99 % of requests to {server} take at most, collections behind the response")
        if row is None:
            assert f"genba.gc with {server}: not run: no " in words
        else:
            assert row["value"] > 0 and row["bound"] > 0 and " with collections within; " in row["yardstick"], row


@in_long_runs
def test_equal_and_different_commands_in_turns(tmp_path: Path) -> None:
    _, data, _ = bench("--parts", "turns", folder=tmp_path, COMPARISONS="1")
    found = {row["goal"]: row for row in data["goals"]}
    counts = ["bench: equal commands that seem to differ"]
    counts += ["bench: a difference of 3 % that is shown", "bench: a difference of 3 % in computing that is shown"]
    if shutil.which("hyperfine"):
        counts += [f"{goal}, by hyperfine and Welch's t" for goal in counts]
        assert sum(goal.startswith("bench: mean time of ") for goal in found) == 2
    if turns.PYPERF.exists():
        assert sum(goal.endswith(" beside pyperf command") for goal in found) == 2
    assert all(found[goal]["unit"] == "of 1" and found[goal]["value"] in (0, 1) for goal in counts), found


def test_when_times_of_hyperfine_differ() -> None:
    flat = [0.0, 1.0] * 15
    # Student's t of 29 degrees of freedom is 2.045, and the error is √(2 · (15/58) / 30) = 0.1313: 0.2685 apart.
    assert not turns.differs(flat, flat)
    assert not turns.differs(flat, [time + 0.268 for time in flat]) and turns.differs(flat, [time + 0.269 for time in flat])
    assert not turns.differs([time + 0.268 for time in flat], flat) and turns.differs([time + 0.269 for time in flat], flat)


def test_how_many_equal_ones_differ_by_chance() -> None:
    # Of 200: 10 are expected, and five standard deviations (3.08) are 15.4. Of 20: 1, and 4.87.
    assert (commands.claims_by_chance(200), commands.claims_by_chance(20)) == (25, 5)


def test_each_snippet_has_a_row_beside_pyperf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lib/python3.13/site-packages/pyperformance/data-files/benchmarks").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").touch()
    monkeypatch.setattr(snippets, "FOLDER", tmp_path)
    monkeypatch.setenv("MEANS_OF", "nbody,go")
    monkeypatch.setattr(snippets, "block", lambda genba, python, script, folder: (0.011 if "bm_go" in str(script) else 0.01, 0.01))
    count, nbody, go = snippets.rows(Namespace(genba="genba"), tmp_path)
    assert (count.value, count.unit, count.bound) == (1, "of 2", 1) and count.yardstick.endswith("from 1.000 to 1.100; go"), count
    assert (nbody.goal, nbody.value, nbody.yardstick) == ("bench --py: mean of nbody beside pyperf's", 1.0, "± 0.0 %; genba 10.000 ms, pyperf 10.000 ms")
    assert go.goal == "bench --py: mean of go beside pyperf's" and abs(go.value - 1.1) < 1e-9, go


def test_a_way_that_does_not_exist_is_refused() -> None:
    command = [sys.executable, str(HERE / "bench.py"), "--ways", "gprof", "--parts", "table", "--genba", ways.GENBA]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("error: no way gprof\nhint: one of alone, ")


def test_payloads_are_what_follows_each_header(tmp_path: Path) -> None:
    def block(payload: bytes) -> bytes:
        header = bytearray(made.HEADER_BYTES)
        header[: len(made.MAGIC)] = made.MAGIC
        header[made.PAYLOAD_BYTES_AT : made.PAYLOAD_BYTES_AT + 4] = len(payload).to_bytes(4, "little")
        return bytes(header) + payload

    recording = tmp_path / "two.genba"
    recording.write_bytes(block(b"first") + block(b"second, longer"))
    assert made.payloads(recording, tmp_path / "out").read_bytes() == b"firstsecond, longer"
