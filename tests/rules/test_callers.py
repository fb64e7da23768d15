"""`called from` in the report, held against a sum over all samples of the profile's tables."""

import pytest

from profile_tables import Profile
from recording import Workshop

SHOP = """
def price(count):
    total = 0
    for number in range(count):
        total += number * number % 7
    return total


def page():
    return price(60_000)


def mail():
    return price(20_000)


for _ in range(150):
    page()
    mail()
"""


def test_callers_are_what_the_samples_say(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("shop.py", SHOP))
    assert run.exit_code == 0, run.stderr
    (row,) = [row for row in run.report_json("--by", "function", "--weight", "cpu")["rows"] if row["function"] == "price"]
    sums = cpu_by_caller(run.profile(), "price")
    named = {(caller["function"], caller["line"]): caller["share"] for caller in row["callers"]}
    assert named == {caller: pytest.approx(cpu_ns / row["cpu_ns"]) for caller, cpu_ns in sums.items()}
    assert {function for function, _ in named} == {"page", "mail"}
    assert [caller["share"] for caller in row["callers"]] == sorted(named.values(), reverse=True)
    screen = run.report("--by", "function", "--weight", "cpu")
    page, mail = (SHOP.splitlines().index(f"    return price({count})") + 1 for count in ("60_000", "20_000"))
    assert f"← shop.py:{page} page " in screen and f"← shop.py:{mail} mail " in screen, screen


def cpu_by_caller(profile: Profile, function: str) -> dict[tuple[str, int], int]:
    sums: dict[tuple[str, int], int] = {}
    for row in profile.rows():
        match row.own_lines():
            case [*_, caller, (name, _)] if name == function:
                sums[caller] = sums.get(caller, 0) + row.cpu_ns
    return sums
