"""Recordings that cannot go on: the program does, and both `genba run` and the reader say when it stopped and how much is missing."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from recording import Workshop, genba
from small_disks import small_disk_of
from soak import SOAK

# Much to record, so that little room is soon full.
DOWN = """
import os, random, resource, sys, time
choose = random.Random(1).random
def down(depth):
    if depth == 0: return sum(range(2000))
    if choose() < 0.5: return down(depth - 1)
    return 1 + down(depth - 1)
"""
# It works until its recording has not grown for three seconds: these must be missing.
UNTIL_FULL = DOWN + """
recording, limit = sys.argv[1], int(sys.argv[2])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
size, grew = 0, time.monotonic()
begun = grew
while time.monotonic() < begun + 90 and (size < 100_000 or time.monotonic() < grew + 3):
    down(200)
    if (now := os.stat(recording).st_size) > size:
        size, grew = now, time.monotonic()
print(1)
"""
THREE_SECONDS = """
until = time.monotonic() + 3
while time.monotonic() < until: down(200)
print(1)
"""
STOPS = re.compile(
    r"warning: the recording stops without an end in process \d+ \(CPython [\d.]+\) after ([\d.]+ [mµ]?s), "
    r"([\d.]+ s) before the run ended: .*a full disk"
)


@pytest.fixture
def small_disk(workshop: Workshop) -> Iterator[Path]:
    with small_disk_of(workshop, "size=1m") as folder:
        yield folder


@pytest.fixture(autouse=True)
def short_on_two_versions(workshop: Workshop) -> None:
    if not SOAK and workshop.interpreter.name not in ("3.11", "3.15"):
        pytest.skip("make soak; the short form runs on 3.11 and 3.15")


def ends_as_without_genba(workshop: Workshop, recording: str, limit_bytes: int) -> str:
    program, path = workshop.write("stops.py", UNTIL_FULL), f"{workshop.place.inside}/{recording}"
    target = [workshop.interpreter.path, program, path, str(limit_bytes)]
    process = workshop.start(target, ["-o", path, "--rate", "5000"], {})
    stdout, stderr = process.communicate(timeout=120)
    assert (process.returncode, stdout) == (0, "1\n"), stderr
    return stderr


def test_a_full_disk(workshop: Workshop, small_disk: Path) -> None:
    words = ends_as_without_genba(workshop, "small/full.genba", 0)
    assert STOPS.search(words), words
    assert "cannot add C names and sources" in words and "No space left" in words, words
    # The reader alone does not know when the run ended: there was no room for that either.
    report = genba("report", small_disk / "full.genba")
    ends = ["has no end in this recording" in report.stderr, "cut at byte" in report.stderr]
    assert report.returncode == 0 and ends.count(True) == 1, report.stderr


def test_a_file_size_limit(workshop: Workshop) -> None:
    words = ends_as_without_genba(workshop, "limited.genba", 1_000_000)
    assert STOPS.search(words), words
    report = genba("report", workshop.place.outside / "limited.genba")
    assert report.returncode == 0 and STOPS.search(report.stderr), report.stderr


@pytest.mark.parametrize("when", ["at the start", "later"])
def test_no_memory(workshop: Workshop, when: str) -> None:
    limit = """
used_pages = int(open('/proc/self/statm').read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (used_pages * 4096 + (2 << 20),) * 2)
"""
    # Two megabytes are enough for the program and too little for genba's first buffers; later genba may need no more.
    texts = {
        "at the start": "import resource" + limit + DOWN + THREE_SECONDS,
        "later": DOWN + THREE_SECONDS + limit + "while time.monotonic() < until + 1: down(200)\n",
    }
    run = workshop.run(workshop.write("tight.py", texts[when]), flags=("--rate", "1000"))
    assert run.answer() == 1, run.stderr
    ended = run.profile()["processes"][0]["ended"]
    assert ended == "no memory" or (when == "later" and ended == "exit"), run.check().stdout
    words = r"recorded for its first [\d.]+ [mµ]?s only, which is [\d.]+ m?s before the run ended: no memory was left"
    assert (ended == "no memory") == bool(re.search(words, run.stderr)), run.stderr
