"""`genba run --copies`: bytes that memcpy and memmove copied, by expression, in every view."""

import json
import re
import time

import pytest

from interpreters import Interpreter
from recording import Run, Workshop, genba
from stalls import Stalls

# A program has copied something before it begins its work, and does so beside it.
BESIDE_MAX = 60_000_000
# What a slice of n bytes costs at every position.
SLICED = 200_000
# Bytes of a copy.
EQUAL = 100_000
# Where the sampler gets no CPU for most of a run, the run says nothing: it is made again.
TRIES = 3
IN_SAMPLES_MIN = 0.5


def run(workshop: Workshop, kind: str, *, tries: int = TRIES) -> tuple[Run, int]:
    for _ in range(tries):
        made = workshop.run(workshop.program("tests/programs/copies.py"), kind, flags=("--copies",))
        if "No module named 'numpy'" in made.stderr:
            pytest.skip("this interpreter has no numpy")
        if tries == 1 or sampled_part(made) >= IN_SAMPLES_MIN:
            break
    return made, made.answer()["bytes"]


def row_of(made: Run, function: str) -> dict:
    rows = made.report_json("--weight", "copied", "--by", "function")["rows"]
    return next((row for row in rows if row["function"] == function), {"copied_bytes": 0, "chain": []})


def in_samples(made: Run) -> float:
    """The part of all bytes that is in samples. Where the sampler gets no CPU for a while, buffers run out, and the rest is told as in none."""
    part = sampled_part(made)
    assert part >= IN_SAMPLES_MIN, f"{part} in each of {TRIES} runs"
    return part


def sampled_part(made: Run) -> float:
    return sum(made.profile()["samples"]["copied_bytes"]) / made.report_json("--weight", "copied")["copied_bytes"]


KINDS = ["bytes", "bytearray", "str", "join", "array", "write", "pickle"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_function_copies(workshop: Workshop, kind: str) -> None:
    made, known = run(workshop, kind)
    page = made.report_json("--weight", "copied", "--by", "function")
    assert known <= page["copied_bytes"] <= known * (2 if kind == "pickle" else 1) + BESIDE_MAX, "the count misses nothing"
    row = row_of(made, f"of_{kind}")
    if kind == "pickle":
        # How often pickle copies its own buffer differs between versions.
        assert row["copied_bytes"] >= 0.95 * known * in_samples(made)
    else:
        assert abs(row["copied_bytes"] / in_samples(made) / known - 1) <= 0.02, row
    assert "memmove" in row["chain"][-1], row["chain"]


def test_numpy(workshop: Workshop) -> None:
    made, known = run(workshop, "numpy")
    assert abs(row_of(made, "of_numpy")["copied_bytes"] / in_samples(made) / known - 1) <= 0.02


def test_what_neither_function_copies_is_not_counted(workshop: Workshop) -> None:
    made, _ = run(workshop, "elsewhere", tries=1)
    assert made.report_json("--weight", "copied")["copied_bytes"] <= BESIDE_MAX


@pytest.mark.parametrize("kind", ["threads", "handlers"])
def test_threads_and_handlers(workshop: Workshop, kind: str) -> None:
    made, known = run(workshop, kind)
    page = made.report_json("--weight", "copied")
    assert known <= page["copied_bytes"] <= known + BESIDE_MAX, "of threads that ended, too"
    assert row_of(made, "of_bytes")["copied_bytes"] >= 0.95 * known * in_samples(made)


def test_a_forked_child_counts_for_itself(workshop: Workshop) -> None:
    made, known = run(workshop, "forks", tries=1)
    page = made.report_json("--weight", "copied")
    # A child that is begun in the middle of a recording has its own count; what it copies before its own sampler begins is in no sample. The first
    # sample of each of the five tells what was copied beside since the one before, too.
    assert known <= page["copied_bytes"] <= known + 5 * BESIDE_MAX
    assert 0 < row_of(made, "of_bytes")["copied_bytes"] <= page["copied_bytes"]
    processes = made.check().stdout.count("  copied: ")
    assert processes == 5


def test_the_slice_and_the_first_screen(workshop: Workshop, stalls: Stalls) -> None:
    began_ns = time.monotonic_ns()
    made = workshop.run(workshop.program("casebook/bytes-slice/slow.py"), str(SLICED), flags=("--copies",))
    ran_ns = time.monotonic_ns() - began_ns
    known = sum(SLICED - at for at in range(SLICED))
    page = made.report_json("--weight", "copied")
    first = page["rows"][0]
    assert (first["function"], first["expression"]) == ("before", "b[i:]")
    assert abs(first["copied_bytes"] / in_samples(made) / known - 1) <= 0.02, first["copied_bytes"] / known
    after = sum(row["copied_bytes"] for row in page["rows"] if row["function"] == "after")
    # The first sample in `after` tells what was copied since the last one in `before`: as much as the machine let it wait.
    assert after <= (0.001 + 2 * stalls.worst_ns(began_ns) / ran_ns) * known
    said = next(line for line in made.stderr.splitlines() if "copies: " in line)
    assert "b[i:]" in said and " GB" in said and "kB a call" in said
    [place] = page["verdict"]["copies"]
    assert place["expression"] == "b[i:]" and place["copies"] > 0


def test_how_large_a_copy_is(workshop: Workshop) -> None:
    """Of copies of one size the estimate of their number errs as that of their bytes does. Where sizes range down to a byte, as in `slow.py`, a small
    copy that happens to be chosen stands for very many: nine of a hundred is the standard deviation there, and no test can be made of it."""
    program = workshop.write("equal.py", f"b = bytes({EQUAL + 1})\nfor _ in range(50_000):\n    b[1:]\n")
    [place] = workshop.run(program, flags=("--copies",)).report_json("--weight", "copied")["verdict"]["copies"]
    assert place["expression"] == "b[1:]" and abs(place["bytes"] / place["copies"] / EQUAL - 1) < 0.01, place


def test_every_view_has_the_weight(workshop: Workshop, python: Interpreter) -> None:
    made, known = run(workshop, "bytes")
    seen = in_samples(made)
    tree = json.loads(made.tree("--weight", "copied", "--format", "json"))
    assert tree["copied_bytes"] >= 0.98 * known * seen
    in_function = sum(branch["total_copied_bytes"] for branch in tree["branches"] if branch["name"] == "of_bytes")
    assert in_function >= 0.97 * known * seen
    lines = genba("lines", made.recording, "--weight", "copied")
    assert lines.returncode == 0 and re.search(r"^ *total +CPU +copied +self +line$", lines.stdout, re.MULTILINE), lines
    assert re.search(r"[kMG]B +[\d.]+ % +\d+ .*b\[1:\]", lines.stdout), lines.stdout
    stacks = made.collapsed_text("--weight", "copied")
    assert sum(int(line.rsplit(" ", 1)[1]) for line in stacks.splitlines()) >= 0.98 * known * seen
    assert sum(made.profile()["samples"]["copied_bytes"]) >= 0.98 * known * seen
    assert "inlined" in made.report("--weight", "copied"), "what is not seen is said"


def test_without_the_option_the_weight_is_refused(workshop: Workshop) -> None:
    made = workshop.run(workshop.program("tests/programs/copies.py"), "elsewhere")
    refused = genba("report", made.recording, "--weight", "copied")
    assert refused.returncode == 1
    assert "hint: record anew: genba run --copies" in refused.stderr
    assert "copied_bytes" not in made.report("--format", "json")
