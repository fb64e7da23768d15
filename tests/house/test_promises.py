"""The table of promises names tests that exist, and the page of figures leaves no figure out."""

import json
import re
import sys
from pathlib import Path

import pytest

from recording import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "make"))
import measured  # noqa: E402

PROMISES = REPOSITORY / "docs/promises.md"


def test_every_test_that_is_named_exists() -> None:
    named = re.findall(r"\]\(([^)#]+)\)", PROMISES.read_text())
    assert len(named) > 20
    assert [one for one in named if not (PROMISES.parent / one).exists()] == []


def test_each_finding_has_tests_that_exist() -> None:
    section = PROMISES.read_text().split("## What a second reading found", 1)[1].split("\n## ", 1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if re.match(r"\| [ABC]\d", line)]
    numbers = [f"{part}{number}" for part, count in (("A", 9), ("B", 5), ("C", 7)) for number in range(1, count + 1)]
    assert [row[0] for row in rows] == numbers
    for number, _, tests in rows:
        named = re.findall(r"\]\(([^)]+)\): `([^`]+)`", tests)
        assert named and len(named) == tests.count("`") // 2, number
        # As a function of Rust or Python begins, or the words of a test of JavaScript.
        gone = [name for path, name in named if not re.search(rf"(fn |def |test\(\"){re.escape(name)}[(\"]", (PROMISES.parent / path).read_text())]
        assert gone == [], number


def line(test: str, python: str | None, name: str, value: float | str, bound: float | None, commit: str = "aa") -> dict:
    return {"test": test, "python": python, "figure": name, "value": value, "unit": "%", "bound": bound, "soak": True, "commit": commit}


def test_a_page_of_figures() -> None:
    sections: dict = {}
    measured.put(
        [
            line("tests/test_b.py::test_x[3.15]", "3.15", "share", 0.25, 1.0),
            line("tests/test_b.py::test_x[3.11]", "3.11", "share", 12, 1.0),
            line("tests/test_b.py::test_y[3.11]", "3.11", "other", 1, 2.0),
            line("tests/test_b.py::test_y[3.15]", "3.15", "other", 1, 3.0),
            line("make bench", None, "cost", "none", None),
        ],
        sections,
    )
    page = measured.page(sections, "a machine", "The long run is whole.\n")
    assert "## make bench\n\n| figure | all | bound | commit |\n|---|---|---|---|\n| cost | none % *long* |  | aa |\n" in page
    assert "| share | 12 % *long* | 0.25 % *long* | 1 | aa |\n" in page
    assert "| other | 1 % *long* (2) | 1 % *long* (3) | in parentheses | aa |\n" in page
    # What a run does not measure stays as it was, with its commit.
    again = measured.rows_of(page)
    assert again == sections
    measured.put([line("tests/test_b.py::test_x[3.15]", "3.15", "share", 0.5, 1.0, "bb")], again)
    page = measured.page(again, "a machine", "The long run is whole.\n")
    assert "| share | 12 % *long* | 0.5 % *long* | 1 | 3.11: aa; 3.15: bb |\n" in page
    assert measured.rows_of(page) == again
    assert "The newest run's machine: a machine Figures" in page and "Figures of the commit `unknown` are older" in page
    assert page.index("a machine") < page.index("The long run") < page.index("## make bench") < page.index("## tests/test_b.py")


def test_a_page_from_before_commits_were_kept() -> None:
    old = measured.rows_of("# What was measured\n\n## tests/test_b.py\n\n| figure | 3.11 | 3.15 | bound |\n|---|---|---|---|\n| share | 1 |  | 2 |\n")
    measured.put([line("tests/test_b.py::test_x[3.15]", "3.15", "share", 5, 2)], old)
    assert "| share | 1 | 5 % *long* | 2 | 3.11: unknown; 3.15: aa |\n" in measured.page(old, "a machine", "")


def test_what_a_bench_measured_beside_a_figure_has_a_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, lines = tmp_path / "measured.md", tmp_path / "bench.jsonl"
    monkeypatch.setattr(measured, "PAGE", page)
    monkeypatch.setattr(sys, "argv", ["measured.py", str(lines)])

    def made_of(**yardsticks: str) -> str:
        rows = [{**line("make bench", None, name, 5, None), "soak": False, "yardstick": yardstick} for name, yardstick in yardsticks.items()]
        lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert measured.main() == 0
        return page.read_text()

    text = made_of(turns="30 rounds | each", size="")
    head = "## make bench\n\n| figure | all | bound | yardstick | commit |\n|---|---|---|---|---|\n"
    turns = "| turns | 5 % |  | 30 rounds / each | aa |\n"
    assert f"{head}| size | 5 % |  |  | aa |\n{turns}" in text
    # A row that is not measured again keeps its own; one that is has none of an earlier run.
    assert f"{head}| size | 5 % |  | zstd 1 MB | aa |\n{turns}" in made_of(size="zstd 1 MB")
    assert f"{head}| size | 5 % |  |  | aa |\n{turns}" in made_of(size="")


def test_figures_of_one_name_do_not_hide_each_other() -> None:
    sections: dict = {"tests/test_b.py": {"samples": {"3.11": "5 %", "bound": ""}}}
    nodes = ("test_with_numpy[3.11]", "test_busy[3.11-standalone-nested.py]", "test_busy[3.11-flat.py]", "test_busy[3.13-flat.py]")
    measured.put([line(f"tests/test_b.py::{node}", node.split("[")[1][:4], "samples", 7, None) for node in nodes], sections)
    assert sorted(sections["tests/test_b.py"]) == ["samples (busy, flat.py)", "samples (busy, nested.py)", "samples (with numpy)"]
    assert sections["tests/test_b.py"]["samples (busy, flat.py)"] == {"3.11": "7 % *long*", "3.13": "7 % *long*", "bound": "", "commit": "aa"}


def test_the_page_says_what_the_long_run_lacks() -> None:
    def outcome(test: str, python: str, outcome: str, state: str = "now") -> dict:
        return {"test": test, "python": python, "outcome": outcome, "commit": "aa", "state": state}

    plan = {"tests/test_b.py": {"state": "now", "tests": {"3.11": 2, "3.15": 3}}}
    rest = {"tests/test_c.py": {"state": "now", "tests": {"3.11": 1, "all": 1}}}
    assert measured.long_run(measured.standing([{"plan": plan | rest}]), "aa").endswith(" 0 failed, 7 were not run.\n")
    one = outcome("tests/test_b.py::x[3.11]", "3.11", "passed")
    assert measured.long_run(measured.standing([{"plan": plan | rest}, one]), "aa").endswith("- nothing was run of tests/test_c.py\n")
    lines = [
        {"plan": {}, "commit": "aa"},
        outcome("tests/test_b.py::x[3.11]", "3.11", "failed"),
        outcome("tests/test_b.py::y[3.11]", "3.11", "passed"),
        outcome("tests/test_b.py::x[3.15]", "3.15", "failed"),
        outcome("tests/test_b.py::y[3.15]", "3.15", "passed", state="before"),
        {"plan": plan, "commit": "bb"},
        outcome("tests/test_b.py::x[3.11]", "3.11", "passed"),
    ]
    words = measured.long_run(measured.standing(lines), "bb")
    assert "is **not whole** at bb: of 5 tests 2 passed, 0 failed as expected, 0 were skipped, 1 failed, 2 were not run.\n" in words
    again = "- passed at the second try: `tests/test_b.py::x[3.11]`"
    assert f"- failed: `tests/test_b.py::x[3.15]`\n{again}\n- not run: tests/test_b.py on 3.15 (2)\n" in words
    sections: dict = {}
    measured.put(measured.passed(measured.standing(lines)), sections)
    page = measured.page(sections, "a machine", words)
    assert "| passed | 2 of 2, 1 at a later try *long* | 0 of 3, 1 failed, 2 not run *long* | all | aa |\n" in page
    found = measured.LONG_RUN.search(page)
    assert found and found[0].strip() == words.strip()

    lines += [outcome(f"tests/test_b.py::{name}[3.15]", "3.15", end) for name, end in (("x", "passed"), ("y", "xfailed"), ("z", "skipped"))]
    words = measured.long_run(measured.standing(lines), "bb")
    whole = "The long run (`make soak`) is whole at bb: of 5 tests 3 passed, 1 failed as expected, 1 were skipped, 0 failed, 0 were not run.\n"
    assert words == "\n".join([whole, again, again.replace("3.11", "3.15"), ""])
    rows = {row["python"]: row["unit"] for row in measured.passed(measured.standing(lines))}
    assert rows == {"3.11": "of 2, 1 at a later try", "3.15": "of 3, 1 at a later try, 1 expected to fail, 1 skipped"}
    lines += [outcome("tests/test_b.py::z[3.15]", "3.15", end) for end in ("failed", "failed", "passed")]
    assert "- passed at the third try: `tests/test_b.py::z[3.15]`\n" in measured.long_run(measured.standing(lines), "bb")
    # A failure at another state of the sources is no try at this one.
    lines += [outcome("tests/test_b.py::y[3.11]", "3.11", "failed", state="before")]
    assert "y[3.11]" not in measured.long_run(measured.standing(lines), "bb")
