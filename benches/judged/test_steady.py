"""`make steady`: which programs it knows, and what it says of one whose verdict changes. A script takes the place of genba."""

import json
import sys
from pathlib import Path

import pytest

import steady

# Another verdict in every third report.
GENBA = """#!/bin/sh
[ "$1" = report ] || exit 0
echo >> "$0.calls"
case $(($(wc -l < "$0.calls") % 3)) in
    0) echo '{"verdict": {"name": "gc", "places": []}}';;
    *) echo '{"verdict": {"name": "one place", "places": [{"function": "hours"}]}}';;
esac
"""


def test_it_knows_the_programs_of_the_rules_and_the_others() -> None:
    programs = steady.programs()
    folders = [program.path.rpartition("/")[0] for program in programs.values()]
    assert folders.count("first_screen/untuned") == 10 and folders.count("first_screen") == 19 and folders.count("verdicts") == 14
    assert all((steady.ROOT / f"tests/{program.path}.py").is_file() for program in programs.values())
    assert dict(programs["verdicts/native_threads 40"].environment) == {"OPENBLAS_NUM_THREADS": "4"}


def test_a_verdict_that_changes_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "genba"
    script.write_text(GENBA)
    script.chmod(0o755)
    monkeypatch.setenv("ONLY", "untuned/dates")
    monkeypatch.setenv("GENBA_FIGURES", str(tmp_path / "figures"))
    monkeypatch.setattr(steady.machine, "commit", lambda: "aa")
    monkeypatch.setattr(steady, "RUNS", 6)
    assert steady.main(str(script), [sys.executable]) == 1
    version = sys.version.split()[0]
    said = capsys.readouterr().out
    assert f"| `first_screen/untuned/dates 150` | {version} | `one place` 4, `gc` 2 | 4 |\n" in said
    assert said.endswith(f"below 95%: first_screen/untuned/dates 150 on {version}\n"), said
    [line] = map(json.loads, (tmp_path / "figures").read_text().splitlines())
    figure = {"figure": "`first_screen/untuned/dates 150`", "value": 4, "unit": "of 6: `one place` 4, `gc` 2", "bound": steady.SAME_MIN * 6}
    assert line == {"test": "make steady", "python": ".".join(version.split(".")[:2]), **figure, "soak": False, "commit": "aa"}
    monkeypatch.setattr(steady, "RUNS", 2)
    assert steady.main(str(script), [sys.executable]) == 0
    assert capsys.readouterr().out.endswith("below 95%: none\n")


def test_the_width_of_a_place_is_no_other_verdict_but_another_function_is() -> None:
    place, line = steady.Verdict("one place", "step"), steady.Verdict("one line", "step")
    assert place.means == line.means != steady.Verdict("one line", "main").means
    assert steady.Verdict("gc", "step").means == steady.Verdict("gc", "main").means != line.means
