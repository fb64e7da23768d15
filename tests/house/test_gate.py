"""The gate (make/gate.py) on parts of its own: each kind of failure makes it red, and the last lines say which and how to repeat it."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from recording import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "make"))
import gate  # noqa: E402
from gate import Counts, Failure, Outcome, Part  # noqa: E402


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository without parts, where nothing of this one is read or written."""
    for name, path in (("ROOT", tmp_path), ("LOGS", tmp_path / "logs"), ("NOT_HERE", tmp_path / "not-here"), ("HISTORY", tmp_path / "kept/history.jsonl")):
        monkeypatch.setattr(gate, name, path)
    monkeypatch.setattr(gate, "PYTEST", "sh again")
    return tmp_path


def verdict(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *parts: Part) -> tuple[int, list[str]]:
    monkeypatch.setattr(gate, "GROUPS", {"test": parts})
    monkeypatch.setattr(gate, "PARTS", {part.name: part for part in parts})
    return gate.main(["test"]), capsys.readouterr().out.splitlines()


def failing(*tests: str) -> str:
    """A part in which these fail, as tests/conftest.py writes it."""
    lines = " ".join(shlex.quote(json.dumps({"test": test, "message": f"why\n {test}"})) for test in tests)
    return f"printf '%s\\n' {lines} >\"$GENBA_FAILED\"; echo '=== {len(tests)} failed, 4 passed, 2 skipped in 1.00s ==='; exit 1"


def test_green(room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (room / "not-here").write_text("of the run before\n")
    parts = Part("first", "echo made >made"), Part("second", "cat made; echo '=== 3 passed in 1.00s ==='", needs=("first",), read=gate.read_pytest)
    code, lines = verdict(monkeypatch, capsys, *parts)
    assert code == 0 and lines[-1] == "3 passed, 0 failed, 0 skipped", lines
    assert lines[-2].startswith("gate: green · no commit · ") and not any("not here" in line for line in lines)


def test_a_part_that_breaks_and_what_needs_it(room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    parts = Part("build", "echo no compiler; exit 3"), Part("rust", "true", needs=("build",)), Part("web", "touch ran")
    code, lines = verdict(monkeypatch, capsys, *parts)
    assert code == 1 and (room / "ran").exists(), "every part that can runs before the verdict"
    assert "    no compiler" in lines
    assert lines[-5:-2] == ["failed: build (build/gate/build.log)", "  echo no compiler; exit 3", "not run: rust, which needs build"]
    assert lines[-1] == "0 passed, 1 failed, 0 skipped"


def test_a_test_that_passes_at_the_second_try(room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (room / "again").write_text('echo "$1" >>tried\n')
    part = Part("python", failing("a.py::x"), read=gate.read_pytest)
    code, lines = verdict(monkeypatch, capsys, part)
    assert code == 0 and (room / "tried").read_text() == "a.py::x\n"
    assert lines[-3] == "unsteady: a.py::x: why a.py::x" and lines[-1] == "5 passed, 0 failed, 2 skipped", lines
    # The next run has the same one: the test must be mended.
    code, lines = verdict(monkeypatch, capsys, part)
    assert code == 1 and "unsteady in two of 10 runs: a.py::x" in lines, lines
    # Ten runs later it is forgotten.
    for _ in range(9):
        gate.remember("aa", [])
    assert verdict(monkeypatch, capsys, part)[0] == 0


def test_a_test_that_fails_twice(room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (room / "again").write_text("echo still so; exit 1\n")
    code, lines = verdict(monkeypatch, capsys, Part("python", failing("a.py::x"), read=gate.read_pytest))
    assert code == 1 and "    still so" in lines
    assert lines[-4:-2] == ["failed: a.py::x: why a.py::x", "  sh again a.py::x"] and lines[-1] == "4 passed, 1 failed, 2 skipped"


def test_a_run_that_is_broken_off_behind_a_failure(room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (room / "again").write_text("true\n")
    code, lines = verdict(monkeypatch, capsys, Part("python", failing("a.py::x").replace(" in 1.00s ", " "), read=gate.read_pytest))
    assert code == 1 and any(line.startswith("failed: python ") for line in lines), lines


def test_a_part_that_hangs_is_ended(room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(gate, "SILENT_SECONDS_MAX", 0)
    part = Part("python", "echo begun; sleep 600", read=gate.read_pytest)
    code, lines = verdict(monkeypatch, capsys, part, Part("web", "touch ran", needs=("python",)))
    assert code == 1 and not (room / "ran").exists()
    assert "not run: web, which needs python" in lines and any("nothing was written here" in line for line in lines), lines


def test_many_unsteady_ones_are_red(room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (room / "again").write_text("true\n")
    code, lines = verdict(monkeypatch, capsys, Part("python", failing(*"abcd"), read=gate.read_pytest))
    assert code == 1 and "more than 3 unsteady tests: 4" in lines


def test_very_many_failures_are_not_tried_again(room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (room / "again").write_text("touch tried\n")
    code, lines = verdict(monkeypatch, capsys, Part("python", failing(*map(str, range(16))), read=gate.read_pytest))
    assert code == 1 and not (room / "tried").exists()
    last = lines[next(index for index, line in enumerate(lines) if line.startswith("failed: 0")) :]
    assert len(last) <= gate.LAST_LINES and any("more lines in build/gate/verdict" in line for line in last)
    assert "failed: 15: why 15" in (room / "logs/verdict").read_text()


def test_what_nextest_writes(room: Path) -> None:
    report = room / "target/nextest/default/junit.xml"
    report.parent.mkdir(parents=True)
    report.write_text(
        '<testsuites><testsuite name="genba-names::bin/x"><testcase name="words::a"/>'
        '<testcase name="words::b"><failure message="left: 1&#10;right: 2"/></testcase>'
        '<testcase name="words::c"><flakyFailure message="late"/></testcase>'
        '<testcase name="words::d"><flakyFailure type="test timeout">\n<system-out>running</system-out>\n</flakyFailure></testcase></testsuite></testsuites>'
    )
    again = "build/tools/bin/cargo-nextest nextest run -E 'binary_id(genba-names::bin/x) and test(={})'"
    assert gate.read_nextest("", "rust") == Outcome(
        Counts(3, 1, 0),
        (Failure("genba-names::bin/x words::b", "left: 1 right: 2", again.format("words::b")),),
        (
            Failure("genba-names::bin/x words::c", "late", again.format("words::c")),
            Failure("genba-names::bin/x words::d", "test timeout", again.format("words::d")),
        ),
    )


def test_what_node_writes(tmp_path: Path) -> None:
    """By what `npm test` asks it to write: without that, node 20 writes another form into a file than on a terminal."""
    script = json.loads((REPOSITORY / "web/package.json").read_text())["scripts"]["test"]
    [reporter] = re.findall(r"--test-reporter=\S+", script)
    (tmp_path / "one.test.mjs").write_text(
        'import assert from "node:assert/strict"; import { test } from "node:test";\ntest("a page", () => {});\n'
        'test("no page", () => { throw new Error("none"); });\ntest("another page", () => assert.match("B is\\nmore", /less/));\n'
    )
    wrote = subprocess.run(["node", "--test", reporter, "one.test.mjs"], cwd=tmp_path, capture_output=True, text=True)
    made = gate.read_node(wrote.stdout, "web")
    assert wrote.returncode != 0 and made.counts == Counts(1, 2, 0)
    [failure] = made.failures
    assert failure.test.endswith("one.test.mjs") and failure.command.startswith("cd web && node --test "), failure
    because = r"✖ no page \([\d.]+ms\) Error: none ✖ another page \([\d.]+ms\) AssertionError .* /less/\. Input: 'B is\\nmore'"
    assert re.fullmatch(because, failure.message), failure


def test_each_part_needs_parts_that_are_there() -> None:
    assert [(part.name, need) for part in gate.PARTS.values() for need in part.needs if need not in gate.PARTS] == []
    assert [part.name for part in gate.chosen(["web"])] == ["compiler", "tools", "build", "packages", "web"]


def test_a_file_that_cannot_be_collected_is_red(room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    words = "echo '___ ERROR collecting b.py ___'; "
    code, lines = verdict(monkeypatch, capsys, Part("python", words + failing("a.py::x"), read=gate.read_pytest))
    assert code == 1 and any(line.startswith("failed: python ") for line in lines), lines
