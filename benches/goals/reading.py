"""Reading: ten million samples beside `zstd -d` of the same payloads; the report of ten seconds beside a bare Python; two recordings compared, and the page of
two that are 900 calls deep beside the pages of each."""

import shutil
from argparse import Namespace
from pathlib import Path

import commands
import recordings
from goals.made import many_samples, payloads
from row import Row

SAMPLES = 10_000_000
STACKS = 90_000
ZSTD_MAX = 3.0
READING_MB_MAX = 300
REPORT_MAX = 3.0
ROUNDS_OF_LONG = 10
DIFF_SAMPLES, DIFF_STACKS = 1_000_000, 100_000
DIFF_SECONDS_MAX = 5.0
DEEP = 900
DEEP_PAGE_MAX = 4.0


def rows(options: Namespace, folder: Path) -> list[Row]:
    return [*report(options, folder), *reading(options, folder), diff(options, folder), deep_page(options, folder)]


def report(options: Namespace, folder: Path) -> list[Row]:
    program = "import time\nuntil = time.process_time() + 10\nwhile time.process_time() < until: pass"
    recording = recordings.made(options, folder / "ten-seconds.genba", 1_000, "-c", program)
    both = {"report": [options.genba, "report", str(recording)], "python": [options.python, "-c", "pass"]}
    compared = commands.beside(options, both, options.rounds, folder)
    return [against(compared, "report", "python", "genba report of ten seconds", REPORT_MAX)]


def reading(options: Namespace, folder: Path) -> list[Row]:
    zstd = shutil.which("zstd")
    if zstd is None:
        raise SystemExit("error: no zstd to compare with\nhint: make/prepare.sh packages")
    recording = many_samples(folder / "long.genba", SAMPLES, STACKS)
    frames = payloads(recording, folder / "long.zst")
    both = {
        "check": [options.genba, "check", str(recording)],
        "report": [options.genba, "report", str(recording)],
        "zstd": [zstd, "-d", "-c", "-q", str(frames)],
    }
    compared = commands.beside(options, both, min(options.rounds, ROUNDS_OF_LONG), folder)
    found = [
        against(compared, "check", "zstd", "reading 10 M samples and judging both laws (genba check)", ZSTD_MAX),
        against(compared, "report", "zstd", "genba report of 10 M samples, 90,000 stacks", None),
    ]
    for name in ("check", "report"):
        memory = compared.median(name, "rss_max_bytes", 1e6)
        yardstick = f"the file {recording.stat().st_size / 1e6:.0f} MB"
        found.append(Row(f"memory of genba {name}, 10 M samples", memory.middle, "MB", bound=READING_MB_MAX, yardstick=yardstick))
    return found


def diff(options: Namespace, folder: Path) -> Row:
    before, after = (many_samples(folder / f"{key}.genba", DIFF_SAMPLES, DIFF_STACKS, key) for key in (1, 2))
    both = {"diff": [options.genba, "diff", str(before), str(after)]}
    compared = commands.beside(options, both, min(options.rounds, ROUNDS_OF_LONG), folder)
    seconds = compared.median("diff", "wall_ns", 1e9)
    memory = compared.median("diff", "rss_max_bytes", 1e6)
    return Row("genba diff of two recordings of 1 M samples, 100,000 stacks", seconds.middle, "s", bound=DIFF_SECONDS_MAX, yardstick=f"{memory.middle:.0f} MB resident")


def deep_page(options: Namespace, folder: Path) -> Row:
    """Each level is a box with moments of its own."""
    lines = ("import sys, time", f"sys.setrecursionlimit({10 * DEEP})", "def deep(levels):", f"    return sum(range(200 + levels)) if levels == {DEEP} else deep(levels + 1) + sum(range(100))")
    program = "\n".join((*lines, "until = time.process_time() + 3", "while time.process_time() < until: deep(0)"))
    first, second = (str(recordings.made(options, folder / f"deep-{key}.genba", 1_000, "-c", program)) for key in (1, 2))
    page = [options.genba, "html", "-o", str(folder / "deep.html")]
    compared = commands.beside(options, {"both": [*page, first, second], "one": [*page, first]}, options.rounds, folder)
    return against(compared, "both", "one", f"the page of two recordings {DEEP} calls deep, beside the page of one", DEEP_PAGE_MAX)


def against(compared: commands.Beside, name: str, yardstick: str, goal: str, bound: float | None) -> Row:
    own, other = (compared.median(one, "wall_ns", 1e6).middle for one in (name, yardstick))
    ratio = compared.ratio(name, yardstick, "wall_ns")
    words = f"{own:.0f} ms beside {yardstick} {other:.0f} ms, ratio {ratio}"
    return Row(goal, ratio.middle, "×", bound=bound, yardstick=words, ratio=ratio.middle)
