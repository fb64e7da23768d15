"""What the table makes of runs: which rounds are divided by which, which ways are due, what stands where nothing ran."""

import json
from pathlib import Path

import pytest

import goals
import machine
import runs
import table
from row import Row
from runs import Cost, Measured
from ways import Way

WAYS = [
    Way("alone", []),
    Way("empty 1 kHz", []),
    Way("genba 1 kHz", [], sees_c=True),
    Way("py-spy", [], sees_c=True, is_peer=True, note="reads from outside"),
    Way("scalene", [], is_peer=True, missing="no wheel"),
]


def cost(cpu_ns: int) -> Cost:
    return Cost(cpu_ns, 10 * cpu_ns, cpu_ns + 5, 10 * cpu_ns + 5)


def measured() -> Measured:
    costs = {"alone": [100, 200], "empty 1 kHz": [110, 220], "genba 1 kHz": [121, 242], "py-spy": [0, 400], "scalene": []}
    by_round = {way: {number: cost(cpu_ns) for number, cpu_ns in enumerate(of_way) if cpu_ns} for way, of_way in costs.items()}
    return Measured("work", by_round, failed={"scalene": "no wheel"})


def test_ratios_are_those_of_rounds_in_which_both_ran() -> None:
    found = {(cell.way, cell.figure, cell.against): cell.ratio for cell in table.cells(measured(), WAYS)}
    assert found["genba 1 kHz", "cpu_ns", "alone"].middle == 1.21
    assert found["genba 1 kHz", "wall_ns", "empty 1 kHz"].middle == 1.1
    # Its one round is the second; the first ran without it.
    assert (found["py-spy", "cpu_ns", "alone"].middle, found["py-spy", "cpu_ns", "alone"].count) == (2.0, 1)
    assert not any(way == "scalene" for way, _, _ in found)


def test_genba_is_divided_by_the_genba_of_before() -> None:
    runs_of_both = measured()
    assert table.beside_before(table.cells(runs_of_both, WAYS)) == []
    runs_of_both.costs["before 1 kHz"] = {0: cost(110), 1: cost(220)}
    lines = table.lines(runs_of_both, [*WAYS, Way("before 1 kHz", [], sees_c=True)])
    assert "  genba 1 kHz / before 1 kHz: CPU 1.100 [1.100, 1.100]" in lines
    # Its own line has what it had without the other.
    assert [line for line in lines if line in table.lines(measured(), WAYS)] == table.lines(measured(), WAYS)


def test_a_way_that_did_not_run_says_why() -> None:
    assert any("scalene" in line and "not run: no wheel" in line for line in table.lines(measured(), WAYS))
    page = table.markdown([measured()], WAYS)
    assert "| | scalene | not run: no wheel |" in page
    assert "| | genba 1 kHz | 1.210 [1.210, 1.210] |" in page
    assert page.endswith("- reads from outside")


def test_a_way_with_fewer_rounds_has_them_spread() -> None:
    assert [number for number in range(30) if runs.is_due(number, 10, 30)] == list(range(2, 30, 3))
    assert [number for number in range(3) if runs.is_due(number, 3, 3)] == [0, 1, 2]


def test_goals_are_judged_by_the_upper_end_and_beside_who_sees_c() -> None:
    rows = {row.goal: row for row in goals.of_table([measured()], WAYS, "no genba")}
    beside = rows["CPU beside the empty handler, 1 kHz, work (upper end)"]
    assert (beside.value, beside.bound, beside.met) == (1.1, 1.02, False)
    spy = rows["slow-down (CPU) beside py-spy, work"]
    assert (spy.value, spy.bound, spy.met) == (1.21, 2.0, True)


def test_a_goal_without_a_bound_is_neither_met_nor_missed() -> None:
    assert Row("a", 1.0, "ms").met is None
    assert goals.words(Row("a", 2.0, "ms", bound=1.0, yardstick="b", ratio=2.0)) == ["a", "≤ 1 ms", "2 ms", "b", "2", "missed"]


def test_a_row_is_a_line_with_its_yardstick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GENBA_FIGURES", str(tmp_path / "figures"))
    monkeypatch.setattr(machine, "commit", lambda: "aa")
    goals.emitted([Row("a", 5, "of 200", yardstick="± 1.5 %")])
    [line] = map(json.loads, (tmp_path / "figures").read_text().splitlines())
    figure = {"figure": "a", "value": 5, "unit": "of 200", "bound": None, "yardstick": "± 1.5 %"}
    assert line == {"test": "make bench", "python": None, "soak": False, "commit": "aa", **figure}
