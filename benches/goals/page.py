"""The page: how long a recording of three million boxes, and one of a million samples, take to open in a real Chromium, beside `JSON.parse` of
their numbers."""

import re
import subprocess
from argparse import Namespace
from pathlib import Path

from goals.made import many_samples
from row import Row

REPOSITORY = Path(__file__).resolve().parent.parent.parent
BOXES = 3_000_000
SAMPLES, STACKS = 1_000_000, 100_000
OPENED_MS_MAX = 2_000


def rows(options: Namespace, folder: Path) -> list[Row]:
    recording = many_samples(folder / "page.genba", SAMPLES, STACKS)
    page = folder / "page.html"
    subprocess.run([options.genba, "html", "--all-samples", "-o", str(page), str(recording)], check=True)
    made, written = f"page of {BOXES:,} boxes", f"page of {SAMPLES:,} samples, {STACKS:,} stacks"
    return [*opened(made, str(BOXES), folder), *opened(written, str(page), folder)]


def opened(name: str, what: str, folder: Path) -> list[Row]:
    """`what`: how many boxes are made up, or the path of a page."""
    command = ["npm", "--prefix", str(REPOSITORY / "web"), "run", "--silent", "speed", "--", what]
    said = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    print(said, flush=True)
    painted_ms, read_ms, parsing_ms = (milliseconds(said, mark) for mark in ("painted", "numbers read", "JSON.parse of its numbers"))
    yardstick = f"JSON.parse of the same numbers in node {parsing_ms:.0f} ms"
    return [
        Row(f"{name}: until it is painted", painted_ms, "ms", bound=OPENED_MS_MAX, yardstick=yardstick, ratio=painted_ms / parsing_ms),
        Row(f"{name}: of which its numbers are read", read_ms, "ms", yardstick=yardstick, ratio=read_ms / parsing_ms),
    ]


def milliseconds(said: str, name: str) -> float:
    found = re.search(rf"^ +{re.escape(name)} +(\d+) ms", said, re.MULTILINE)
    if found is None:
        raise SystemExit(f"error: npm run speed does not say `{name}`:\n{said}")
    return float(found[1])
