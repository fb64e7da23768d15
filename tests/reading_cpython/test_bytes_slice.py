"""casebook/bytes-slice: the first row is the line and the expression, and the copy is found under it (I-11)."""

from collections.abc import Iterator

import pytest

from figures import Figure
from interpreters import Interpreter
from profile_tables import RUNNING, Row
from recording import Run, Workshop

pytestmark = pytest.mark.measures

LINE = "n += len(b[i:][:2])"


@pytest.fixture(scope="module")
def run(module_workshop: Workshop) -> Iterator[Run]:
    run = module_workshop.run(module_workshop.program("casebook/bytes-slice/slow.py"))
    assert run.exit_code == 0, run.stderr
    yield run


def in_before(row: Row) -> bool:
    return row.state in RUNNING and "before" in row.names()


def copies_for_the_slice(row: Row) -> bool:
    if not in_before(row):
        return False
    own = [frame for frame in row.frames if frame["owner"] == "user"]
    leaf = row.frames[-1]
    return own[-1]["expression"] == "b[i:]" and leaf["kind"] == "c" and "memmove" in leaf["name"]


def test_the_first_row_is_the_expression(run: Run) -> None:
    first = run.report_json()["rows"][0]
    with open(run.recording.parent / "report.txt", "w") as kept:
        kept.write(run.report())
    source = (LINE, first["function"], first["expression"])
    assert source == (LINE, "before", "b[i:]"), first
    assert first["file"].endswith("casebook/bytes-slice/slow.py")
    column = "        n += len(b[i:][:2])".index("b[i:]")
    assert (first["column"], first["end_column"]) == (column, column + len("b[i:]"))


def test_the_text_marks_the_expression(run: Run) -> None:
    lines = run.report().splitlines()
    row = next(index for index, line in enumerate(lines) if LINE in line)
    assert "slow.py" in lines[row] and "before" in lines[row]
    start = lines[row].index("b[i:]")
    assert lines[row + 1] == " " * start + "~" * len("b[i:]"), "\n".join(lines[row : row + 2])
    assert "memmove" in lines[row + 2]


def test_the_copy_is_under_the_expression(run: Run, figure: Figure) -> None:
    profile = run.profile()
    samples = profile.sum("samples", in_before)
    copying = profile.sum("samples", copies_for_the_slice)
    figure("samples of before that end in memmove under b[i:]", copying / max(samples, 1), "share", bound=0.7)
    assert samples >= 500
    assert copying >= 0.7 * samples, f"{copying} of {samples} samples of before end in memmove under b[i:]"


def test_the_chain_through_c(run: Run, python: Interpreter) -> None:
    """On the stripped builds all three names must be found without symbols."""
    chain = run.report_json()["rows"][0]["chain"]
    places = [next((i for i, name in enumerate(chain) if wanted in name), None)
              for wanted in ("bytes.__getitem__", "PyBytes_FromStringAndSize", "memmove")]
    if python.minor == "3.15":
        assert None not in places and places == sorted(places), chain
    else:
        assert places[2] is not None, chain


def test_the_other_slice_costs_little(run: Run) -> None:
    rows = run.report_json("--by", "function")["rows"]
    share = {row["function"]: row["share"] for row in rows}
    assert share["before"] > 10 * share.get("after", 0.0), share
