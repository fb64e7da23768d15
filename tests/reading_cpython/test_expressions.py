"""The place of C time is the expression that called, exactly: file, line, columns and text, on every version.

tests/programs/expressions holds the table: Python with «» around what must be named (marked.py). One recording a version calls
all of them one after the other; nearly all the time of each is spent in C that its innermost place calls. What is judged are the
samples inside of that C function: a collection, or a file that the disk is slow to give, is truly at the place around it.
"""

import warnings
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bounds import share_bound
from figures import Figure
from interpreters import Interpreter
from marked import Case, Mark, Marked, cases, read_marked
from profile_tables import RUNNING, Row
from recording import REPOSITORY, Run, Workshop
from soak import SOAK

pytestmark = pytest.mark.measures

TABLE = REPOSITORY / "tests/programs/expressions"
SINCE = {"since_3_12": 12, "since_3_14": 14}
FILES = {path.stem: read_marked(path) for path in sorted(TABLE.glob("*.marked"))}
CASES = {str(case): case for marked in FILES.values() for case in cases(marked)}
CASE_MILLISECONDS = 300 if SOAK else 40
# One call of the hot expression takes 100 µs and more, what is around it in a loop a hundredth of that.
HOT_SHARE_MIN = 0.95
SAMPLES_MIN = 10
# Of all samples of a case: were most of them elsewhere, then something else was measured.
AT_ITS_PLACE_MIN = 0.5

Chain = tuple[Mark, ...]


@dataclass(frozen=True)
class Measured:
    run: Run
    folder: str
    chains: dict[str, Counter[tuple[Chain, str | None]]]
    minor_number: int


def written(marked: Marked) -> bytes:
    """The text as a file; some with other line ends, a byte order mark or another encoding."""
    match marked.module:
        case "crlf":
            return marked.text.replace("\n", "\r\n").encode()
        case "bom":
            return b"\xef\xbb\xbf" + marked.text.encode()
        case "latin_1":
            return marked.text.encode("latin-1")
        case _:
            return marked.text.encode()


@pytest.fixture(scope="module")
def measured(module_workshop: Workshop, python: Interpreter) -> Measured:
    for marked in FILES.values():
        (module_workshop.place.outside / f"{marked.module}.py").write_bytes(written(marked))
    known = [str(case) for case in CASES.values() if python.minor_number >= SINCE.get(case.module, 0)]
    drive = module_workshop.program("tests/programs/expressions/drive.py")
    folder = module_workshop.place.inside
    run = module_workshop.run(drive, folder, str(CASE_MILLISECONDS), *known, flags=("--rate", "4000"))
    assert run.exit_code == 0, run.stderr
    chains: dict[str, Counter[tuple[Chain, str | None]]] = {}
    for row in run.profile().rows():
        case, chain = chain_of(row, folder)
        if case is not None and row.state in RUNNING:
            chains.setdefault(case, Counter())[chain, called_by_python(row)] += row.samples
    return Measured(run, folder, chains, python.minor_number)


def chain_of(row: Row, folder: str) -> tuple[str | None, Chain]:
    """The case that a stack belongs to, and its places: those of frames of the table, and of text without a file."""
    frames = [frame for frame in row.frames if frame["kind"] == "python"]
    driven = next((index for index, frame in enumerate(frames) if frame["name"] == "drive"), None)
    if driven is None or driven + 1 == len(frames):
        return None, ()
    first = frames[driven + 1]
    case = f"{Path(first['file']).stem}.{first['name'].split('.')[0]}"
    ours = [frame for frame in frames[driven + 1 :] if is_ours(frame["file"], folder)]
    return case, tuple(place(frame) for frame in ours)


def called_by_python(row: Row) -> str | None:
    """The outermost C function under the innermost Python frame; none when the interpreter's own loop had the CPU."""
    under = None
    for frame in reversed(row.frames):
        if frame["kind"] == "python":
            break
        under = frame["name"]
    return under


def is_ours(file: str, folder: str) -> bool:
    return file.startswith(folder + "/") or (file.startswith("<") and not file.startswith("<frozen "))


def place(frame: dict[str, Any]) -> Mark:
    file = frame["file"] if frame["file"].startswith("<") else Path(frame["file"]).name
    if frame["expression"] is None:
        return Mark(file, frame["line"])
    columns = (frame["column"], frame["end_line"], frame["end_column"])
    return Mark(file, frame["line"], *columns, frame["expression"])


def fits(expected: Chain, seen: Chain) -> bool:
    return len(expected) == len(seen) and all(map(mark_fits, expected, seen))


def mark_fits(expected: Mark, seen: Mark) -> bool:
    """What is not known of a place beforehand is not compared."""
    if expected.text is not None:
        return expected == seen
    return expected.file == seen.file and expected.line in (None, seen.line)


@pytest.mark.parametrize("name", CASES)
def test_the_place(measured: Measured, name: str, figure: Figure) -> None:
    case = CASES[name]
    if measured.minor_number < SINCE.get(case.module, 0):
        pytest.skip(f"its syntax came with 3.{SINCE[case.module]}")
    seen = measured.chains.get(name, Counter())
    expected = case.chain(measured.minor_number)
    told_seen = "\n".join(f"{count} × {told(chain)} → {called}" for (chain, called), count in seen.most_common(4))
    calls = Counter()
    for (chain, called), count in seen.items():
        if fits(expected, chain):
            calls[called] += count
    assert calls.total() > AT_ITS_PLACE_MIN * seen.total(), f"{calls.total()} of {seen.total()} samples at\n{told(expected)}\nseen:\n{told_seen}"
    called, right = calls.most_common(1)[0]
    samples = sum(count for (_, other), count in seen.items() if other == called)
    assert samples >= SAMPLES_MIN, f"{samples} samples"
    least = HOT_SHARE_MIN - share_bound(HOT_SHARE_MIN, samples)
    if calls.total() < least * seen.total():
        warnings.warn(f"{name}: {calls.total()} of {seen.total()} samples at its place, but nearly all of those in {called}\nseen:\n{told_seen}", stacklevel=1)
    assert right >= least * samples, f"{right} of {samples} samples in {called} at\n{told(expected)}\nseen:\n{told_seen}"


def test_the_report_says_the_same(measured: Measured) -> None:
    """Each innermost place is a row of `genba report --format json`, with exactly the samples that end there; generated text
    has no row of its own, its time is that of the line which runs it."""
    rows = measured.run.report_json("--min-share", "0", "--limit", "0")["rows"]
    reported: Counter[Mark] = Counter()
    for row in rows:
        if row["file"] is not None and is_ours(row["file"], measured.folder):
            reported[place(row)] += row["samples"]
    ends = Counter()
    for seen in measured.chains.values():
        for (chain, _), samples in seen.items():
            ends[innermost_with_a_file(chain)] += samples
    known = [case for name, case in CASES.items() if name in measured.chains]
    innermost = {innermost_with_a_file(case.chain(measured.minor_number)) for case in known}
    assert innermost, "no case"
    for mark in innermost:
        assert (mark, reported[mark]) == (mark, ends[mark])


def innermost_with_a_file(chain: Chain) -> Mark:
    return next(mark for mark in reversed(chain) if not mark.file.startswith("<"))


def test_the_judge_knows_the_next_line() -> None:
    (mark,) = CASES["statements.alone"].chain(13)
    assert fits((mark,), (mark,))
    assert not fits((mark,), (replace(mark, line=mark.line + 1, end_line=mark.end_line + 1),))
    assert not fits((mark,), (replace(mark, end_column=mark.end_column + 1),))
    assert not fits((mark,), (mark, mark))


def told(chain: Chain) -> str:
    return " → ".join(f"{mark.file}:{mark.line}:{mark.column}–{mark.end_line}:{mark.end_column} {mark.text!r}" for mark in chain)
