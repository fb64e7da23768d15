"""`genba diff` on real runs: programs against themselves, a function that was made 5 % slower, and one changed argument.

A comparison may claim a difference that there is not, by design: in 2 of 100. So `make test` asks for large changes only, which no comparison can
miss; how often it errs is asked in the long amounts (make soak) that docs/reading/diff.md speaks of: 100 pairs of equal runs of five programs,
equal runs of ten compared with filters, 1 + 1, 1 + 5 and 3 + 3, pairs that were recorded in two ways, and 100 comparisons with a slow-down. What is
compared is the command's doing, so one CPython is enough.
"""

import json
import random
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from busy import busy
from figures import Figure
from recording import Run, Workshop, genba_said
from runs_on import EVERYWHERE
from soak import SOAK

pytestmark = pytest.mark.measures

# Rounds for about a second and a half of CPU.
ROUNDS = {"orders": 400, "words": 250, "matrix": 350, "trees": 900, "digests": 280}
# More samples in a run tell as much as more runs.
FLAGS = ("--rate", "4000")
PAIRS = 20
CLAIMS_MAX = 5
# As docs/reading/diff.md has it.
PILOTS = 10
RUNS_MAX = 200
SLOW_DOWN_PERCENT = 5
COMPARISONS = 20
NAMED_MIN = 95
# Comparisons draw their runs out of that many times as many.
POOL = 3
# Of its time: others had the processors as well.
DISTURBED_PART = 0.05


@pytest.fixture(autouse=True)
def one_python(workshop: Workshop) -> None:
    if workshop.interpreter.name != "3.13":
        pytest.skip("the comparison is the command's own; CPython 3.13 stands for all")


def record(workshop: Workshop, name: str, percent: float) -> Run:
    run = workshop.run(workshop.program("tests/programs/compared.py"), name, str(ROUNDS[name]), str(percent), flags=FLAGS)
    assert run.exit_code == 0, run.stderr
    return run


def record_in_turn(workshop: Workshop, name: str, before: list[Run], after: list[Run], runs: int) -> None:
    """Until there are as many on each side. A machine that becomes slower does so for both, as docs/reading/diff.md asks."""
    while len(after) < runs:
        before.append(record(workshop, name, 0))
        after.append(record(workshop, name, SLOW_DOWN_PERCENT))


def diff(before: list[Run], after: list[Run], *flags: str) -> dict[str, Any]:
    files: list[str | Path] = [*(run.recording for run in before), "--", *(run.recording for run in after)]
    return json.loads(genba_said("diff", "--format", "json", *flags, *files))


def certain(page: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in page["differences"] + page["functions"] if row["certain"]]


def is_planted(row: dict[str, Any]) -> bool:
    functions = [row["function"], (row["caller"] or {}).get("function")]
    return row["change"] > 0 and any("planted" in function for function in functions if function)


def words(row: dict[str, Any]) -> str:
    return f"{row['function']} ← {(row['caller'] or {}).get('function')} {row['expression']}: {row['low']} to {row['high']} ns of {row['before_ns']}"


@pytest.mark.skipif(not SOAK, reason="make soak: a comparison errs in 2 of 100")
@pytest.mark.timeout(0)
def test_equal_runs_differ_in_nothing(workshop: Workshop, figure: Figure) -> None:
    claims: dict[str, list[str]] = {}
    for name in ROUNDS:
        for pair in range(PAIRS):
            page = diff([record(workshop, name, 0)], [record(workshop, name, 0)])
            claimed = [words(row) for row in certain(page)] + (["the whole"] if page["whole"]["certain"] else [])
            if claimed:
                claims[f"{name} {pair}"] = claimed
    pairs = PAIRS * len(ROUNDS)
    figure("equal runs that claim a difference", len(claims), f"of {pairs} pairs", bound=CLAIMS_MAX)
    assert len(claims) <= CLAIMS_MAX, claims


# Two of the five; calls of several samples in random order, with changing parts of the time; functions of one name; threads that live for some
# milliseconds each, waits, and two workers of a process.
EQUAL = {
    "orders": ("tests/programs/compared.py", "orders", str(ROUNDS["orders"]), "0"),
    "trees": ("tests/programs/compared.py", "trees", str(ROUNDS["trees"]), "0"),
    "bursts": ("tests/programs/changing.py", "even", "400", "100000"),
    "phases": ("tests/programs/changing.py", "phases", "400", "50000"),
    "drift": ("tests/programs/changing.py", "drift", "400", "50000"),
    "lambdas": ("tests/programs/same_names.py", "lambdas", "400"),
    "one name": ("tests/programs/same_names.py", "dispatched", "400"),
    "short threads": ("tests/programs/short_threads.py", "60", "12000", "4000"),
    "waits": ("tests/programs/two_sleeps.py", "2"),
    "two processes": ("tests/programs/workers.py", "spawn"),
}
# How six recordings of a program are compared: how many before, how many after, what is kept of them.
WAYS: dict[str, tuple[int, int, tuple[str, ...]]] = {
    "1 + 1": (1, 1, ()),
    "1 + 5": (1, 5, ()),
    "3 + 3": (3, 3, ()),
    "--focus": (1, 1, ("--focus", "planted|long|<lambda>|^_$")),
    "--time": (1, 1, ("--time", "200ms..700ms")),
    "--thread": (1, 1, ("--thread", "Thread-*")),
    "--process": (1, 1, ("--process", "*multiprocessing*")),
}
# Ways that not all programs have: the others have one thread, or one process, and workers have none of those functions and begin when they like.
ONLY = {
    "--focus": set(EQUAL) - {"two processes"},
    "--time": set(EQUAL) - {"two processes"},
    "--thread": {"short threads", "waits"},
    "--process": {"two processes"},
}
GROUPS = 20


@pytest.mark.skipif(not SOAK, reason="make soak: six recordings of each program, again and again")
@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", EQUAL)
def test_equal_runs_differ_in_nothing_however_they_are_compared(workshop: Workshop, figure: Figure, name: str) -> None:
    program, *arguments = EQUAL[name]
    ways = {way: how for way, how in WAYS.items() if name in ONLY.get(way, EQUAL)}
    claims: dict[str, list[str]] = {}
    compared, claiming = dict.fromkeys(ways, 0), dict.fromkeys(ways, 0)
    for group in range(GROUPS):
        runs = [workshop.run(workshop.program(program), *arguments, flags=FLAGS) for _ in range(6)]
        assert [run.exit_code for run in runs] == [0] * 6
        for way, (before, after, flags) in ways.items():
            # Each recording is in one comparison of a way.
            for first in range(0, len(runs), before + after):
                middle, end = first + before, first + before + after
                page = diff(runs[first:middle], runs[middle:end], *flags)
                compared[way] += 1
                if certain(page) or page["whole"]["certain"]:
                    claiming[way] += 1
                    claims[f"{way}, group {group}, from {first}"] = [words(row) for row in certain(page)]
    for way in ways:
        figure(f"{name}, {way}: equal runs that claim a difference", claiming[way], f"of {compared[way]} comparisons")
    comparisons = sum(compared.values())
    claims_max = CLAIMS_MAX * comparisons // 100
    figure(f"{name}: equal runs that claim a difference", len(claims), f"of {comparisons} comparisons", bound=claims_max)
    assert len(claims) <= claims_max, claims


@pytest.mark.skipif(not SOAK, reason="make soak: some hundred runs")
@pytest.mark.timeout(0)
def test_a_small_slow_down_is_named(workshop: Workshop, figure: Figure) -> None:
    """With as many recordings on each side as the comparison asks for."""
    chance = random.Random(13)
    named: dict[str, int] = {}
    for name in ROUNDS:
        before: list[Run] = []
        after: list[Run] = []
        runs = PILOTS
        while len(before) < runs:
            assert runs <= RUNS_MAX, f"{name}: runs on this machine differ too much"
            record_in_turn(workshop, name, before, after, runs)
            # A few runs may be more alike than many are: the comparison is asked again.
            runs = max(runs, diff(before, after)["advice"]["runs"])
        record_in_turn(workshop, name, before, after, POOL * runs)
        pages = [diff(chance.sample(before, runs), chance.sample(after, runs)) for _ in range(COMPARISONS)]
        named[name] = sum(any(is_planted(row) for row in certain(page)) for page in pages)
        others = sum(any(row["change"] < 0 for row in certain(page)) for page in pages)
        figure(f"{name}: comparisons that name a slow-down of {SLOW_DOWN_PERCENT} %", named[name], f"of {COMPARISONS}, with {runs} runs on each side")
        figure(f"{name}: comparisons that find something faster", others, f"of {COMPARISONS}")
    share = 100 * sum(named.values()) / (COMPARISONS * len(named))
    figure("comparisons that name a slow-down", share, "of 100", bound=NAMED_MIN)
    assert share >= NAMED_MIN, named


def test_a_large_slow_down_is_named_by_one_pair(workshop: Workshop, figure: Figure) -> None:
    page = diff([record(workshop, "matrix", 0)], [record(workshop, "matrix", 300)])
    rows = certain(page)
    figure("certain rows of a function that does four times as much", len(rows), "rows")
    assert any(is_planted(row) for row in rows), page["verdict"]
    # A run that waited for a CPU, by its own accounting, may leave the whole open where the row is certain.
    waited = max(one["waited_for_cpu"] or 0 for side in ("before", "after") for one in page[side]["recordings"])
    opens = ("B takes ", "B differs from A in ") if waited > DISTURBED_PART else "B takes "
    assert page["verdict"].startswith(opens), (waited, page["verdict"])
    if SOAK:
        assert all(row["change"] > 0 for row in rows), [words(row) for row in rows]


def test_one_changed_argument_shows_under_its_caller_only(workshop: Workshop) -> None:
    """casebook/two-callers: foo asks for ten times as much, bar for the same as before."""
    source = (Path(__file__).parents[2] / "casebook/two-callers/slow.py").read_text()
    changed = source.replace('sum12(10_000, 100_000, "foo")', 'sum12(10_000, 1_000_000, "foo")')
    assert changed != source
    # Another name, and three more lines above everything.
    old, new = workshop.write("old.py", source), workshop.write("new.py", "# one\n# two\n# three\n" + changed)
    before = workshop.run(old, "150", flags=FLAGS)
    after = workshop.run(new, "150", flags=FLAGS)
    page = diff([before], [after])
    under_callers = {(row["function"], (row["caller"] or {}).get("function")) for row in certain(page)}
    assert ("sum2", "foo") in under_callers, page
    if SOAK:
        assert under_callers == {("sum2", "foo")}, page
    rows = [row for row in page["differences"] if row["certain"] and row["function"] == "sum2" and (row["caller"] or {}).get("function") == "foo"]
    assert "sum(range(m))" in [row["expression"] for row in rows], page
    # The largest of them, which is the first, does ten times as much.
    row = rows[0]
    assert row["low"] > 0 and row["change"] > 0, row
    if SOAK:
        assert row["low"] <= 9 * row["before_ns"] <= row["high"], row


# Of two equal runs. A function that is taken for another one of its name changes by a third of the whole and more; what chance claims is far smaller.
CLAIM_SHARE_MAX = 0.1
# A busy machine is no place for what other tests measure.
ALONE = pytest.mark.skipif(not SOAK, reason="make soak: it keeps all CPUs busy")
# Pairs for each way in which two runs of one program are recorded unlike.
UNLIKE_PAIRS = 40 if SOAK else 1


def large_claims(page: dict[str, Any]) -> list[str]:
    whole_ns = page["whole"]["before_ns"]
    return [words(row) for row in certain(page) if min(abs(row["low"]), abs(row["high"])) > CLAIM_SHARE_MAX * whole_ns]


# Each with each: six pairs, or one.
SAME_NAMES_RUNS = 4 if EVERYWHERE else 2


@pytest.mark.parametrize(("name", "rounds"), [("lambdas", "120"), ("dispatched", "200")])
def test_functions_of_one_name_are_not_swapped(workshop: Workshop, figure: Figure, name: str, rounds: str) -> None:
    runs = [workshop.run(workshop.program("tests/programs/same_names.py"), name, rounds, flags=FLAGS) for _ in range(SAME_NAMES_RUNS)]
    assert [run.exit_code for run in runs] == [0] * SAME_NAMES_RUNS
    pages = [diff([first], [second]) for at, first in enumerate(runs) for second in runs[at + 1 :]]
    figure(f"{name}: pairs of equal runs that claim a difference", sum(bool(certain(page)) for page in pages), f"of {len(pages)}")
    assert [claims for page in pages if (claims := large_claims(page))] == []


@pytest.fixture(scope="module")
def words_run(module_workshop: Workshop) -> Run:
    """The one side that all ways have."""
    return record(module_workshop, "words", 0)


@pytest.mark.parametrize(
    "way", ["two rates", "duration", "small budget", pytest.param("busy machine", marks=ALONE), pytest.param("duration of a busy machine", marks=ALONE)]
)
def test_one_program_recorded_in_two_ways_claims_nothing(workshop: Workshop, figure: Figure, request: pytest.FixtureRequest, way: str) -> None:
    """What differs is said first. Where a side was stopped early, nothing can be compared at all."""
    ways = {"two rates": ("--rate", "1500"), "duration": (*FLAGS, "--duration", "600ms"), "small budget": ("--budget", "0.5%"), "busy machine": FLAGS}
    # Both were stopped then.
    both = "duration of a busy machine"
    ways[both] = ways["duration"]
    claims = []
    for _ in range(UNLIKE_PAIRS):
        program, arguments = workshop.program("tests/programs/compared.py"), ("words", str(ROUNDS["words"]), "0")
        first = ways[both] if way == both else FLAGS
        sides = [workshop.run(program, *arguments, flags=first) if SOAK else request.getfixturevalue("words_run")]
        with busy() if "busy machine" in way else nullcontext():
            sides.append(workshop.run(program, *arguments, flags=ways[way]))
        page = diff(sides[:1], sides[1:])
        if way == "duration":
            assert (page["comparable"], certain(page), page["whole"]["certain"]) == (False, [], False), page["verdict"]
        elif certain(page) or page["whole"]["certain"]:
            claims.append([words(row) for row in certain(page)])
        assert large_claims(page) == []
    figure(f"{way}: pairs that claim a difference", len(claims), f"of {UNLIKE_PAIRS}", bound=UNLIKE_PAIRS * CLAIMS_MAX / 100)
    if SOAK:
        assert len(claims) <= CLAIMS_MAX, claims


def test_sides_that_cannot_be_compared_are_told_first(workshop: Workshop) -> None:
    text = "import os, sys, time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: sum(range(200))\n"
    whole = workshop.run(workshop.write("whole.py", text))
    killed = workshop.run(workshop.write("killed.py", text + "os.kill(os.getpid(), 9)\n"))
    said = genba_said("diff", whole.recording, killed.recording)
    assert said.startswith("not comparable: A ended with exit code 0, B was ended by signal 9: they did not do the same work. Nothing below is certain; "), said
    page = json.loads(genba_said("diff", whole.recording, killed.recording, "--format", "json"))
    assert list(page)[:5] == ["version", "comparable", "reason", "unlike", "sides"]
    assert page["comparable"] is False and page["reason"] in said
    assert [side["recordings"][0]["end"] for side in (page["before"], page["after"])] == ["ended with exit code 0", "was ended by signal 9"]
    assert [page["sides"][side]["ends"] for side in ("before", "after")] == [["ended with exit code 0"], ["was ended by signal 9"]]
    assert not any(row["certain"] for row in [page["whole"], *page["differences"], *page["functions"]])
    # The same program twice has nothing in the way.
    again = workshop.run(workshop.write("whole.py", text))
    page = json.loads(genba_said("diff", whole.recording, again.recording, "--format", "json"))
    assert (page["comparable"], page["reason"], page["unlike"]) == (True, None, [])


def test_a_row_that_only_one_script_has_is_named_by_that_one(workshop: Workshop) -> None:
    """Two scripts are compared as one file. `two.py` has a function that `js.py` does not have."""
    head = "import time\nend = time.process_time() + 0.4\n"
    two = "import sys\ndef f(i):\n    return i * i % 7\n" + head + "while time.process_time() < end:\n    for i in range(2000): f(i)\n"
    js = head + "while time.process_time() < end: sum(range(200))\n"
    before, after = workshop.run(workshop.write("two.py", two), flags=FLAGS), workshop.run(workshop.write("js.py", js), flags=FLAGS)
    assert (before.exit_code, after.exit_code) == (0, 0), before.stderr + after.stderr
    page = diff([before], [after])
    # On a busy machine the rates may be unlike, too.
    assert page["unlike"][0] == "A ran two.py, B ran js.py"
    assert "\nthe sides are unlike: A ran two.py, B ran js.py" in genba_said("diff", before.recording, after.recording)
    texts = {"two.py": two.splitlines(), "js.py": js.splitlines()}
    rows = [row for row in page["differences"] if Path(row["file"] or "").name in texts]
    for row in rows:
        for code in [row, *([row["caller"]] if row["caller"] else [])]:
            name = Path(code["file"]).name
            assert name == ("js.py" if row["samples_after"] else "two.py"), row
            # The line is one of that file.
            if code["expression"]:
                assert code["expression"].splitlines()[0] in texts[name][code["line"] - 1], code
    assert ("f", "two.py") in {(row["function"], Path(row["file"]).name) for row in rows}, rows
    assert any(row["samples_after"] for row in rows), rows


# As much CPU as before. From then on genba cannot ask the main thread, which blocks its signal behind the C library's back, and may find that late.
BLINDED = """
import ctypes, threading, time
def beside():
    while True: sum(range(2000)); time.sleep(0.002)
def spin(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until: sum(range(200))
threading.Thread(target=beside, daemon=True).start()
spin(2)
SYS_rt_sigprocmask, SIG_BLOCK = 14, 0
ctypes.CDLL(None).syscall(SYS_rt_sigprocmask, SIG_BLOCK, ctypes.byref(ctypes.c_uint64(2**31 - 1)), None, 8)
spin(2)
"""


def test_a_time_of_one_recording_that_samples_miss_is_not_compared(workshop: Workshop) -> None:
    """CPU that is in no sample counts for the time in which it was used."""
    run = workshop.run(workshop.write("blinded.py", BLINDED), flags=FLAGS)
    assert run.exit_code == 0, run.stderr
    blinded_ms = next(mark["at_ns"] for mark in run.profile()["marks"] if mark["kind"] == "masked") // 1_000_000
    # The first two seconds are before it, however late genba finds it.
    times = ("--before-time=1000ms..1500ms", f"--after-time={blinded_ms + 100}ms..{blinded_ms + 600}ms")
    page = json.loads(genba_said("diff", "--format", "json", "--weight", "cpu", *times, run.recording))
    assert not any(row["certain"] for row in [page["whole"], *page["differences"], *page["functions"]])
    assert page["comparable"] is False and "what is in no sample is in no row" in page["reason"], page["reason"]
    covered = [page["sides"][side]["cpu_covered"] for side in ("before", "after")]
    assert covered[0] > 0.9 and covered[1] < 0.5, covered


def test_two_texts_of_one_name_are_not_compared(workshop: Workshop) -> None:
    """Both are called `<string>`, and no recording has their text."""
    loop = "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: "
    works = ("sum(range(200))", "sum(range(200))", "sum(range(100)); max(range(100))")
    one, again, other = (workshop.run_target([workshop.interpreter.path, "-c", loop + work], flags=FLAGS) for work in works)
    assert [run.exit_code for run in (one, again, other)] == [0] * 3

    def sides(page: dict[str, Any]) -> set[tuple[bool, bool]]:
        # Modules that the interpreter imports when it starts are the same on both sides.
        rows = [row for row in page["differences"] if row["file"] == "<string>"]
        assert rows and {row["function"] for row in rows} == {"<module>"}, rows
        return {(row["samples_before"] > 0, row["samples_after"] > 0) for row in rows}

    assert (True, True) in sides(diff([one], [again]))
    assert sides(diff([one], [other])) == {(True, False), (False, True)}
