"""The page: how long a recording of three million boxes takes to open in a real Chromium, beside `JSON.parse` of its numbers."""

import re
import subprocess
from argparse import Namespace
from pathlib import Path

from row import Row

REPOSITORY = Path(__file__).resolve().parent.parent.parent
BOXES = 3_000_000
OPENED_MS_MAX = 2_000


def rows(options: Namespace, folder: Path) -> list[Row]:
    command = ["npm", "--prefix", str(REPOSITORY / "web"), "run", "--silent", "speed", "--", str(BOXES)]
    said = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    print(said, flush=True)
    painted_ms, read_ms, parsing_ms = (milliseconds(said, name) for name in ("painted", "numbers read", "JSON.parse of its numbers"))
    yardstick = f"JSON.parse of the same numbers in node {parsing_ms:.0f} ms"
    return [
        Row(f"page of {BOXES:,} boxes: until it is painted", painted_ms, "ms", bound=OPENED_MS_MAX, yardstick=yardstick, ratio=painted_ms / parsing_ms),
        Row(f"page of {BOXES:,} boxes: of which its numbers are read", read_ms, "ms", yardstick=yardstick, ratio=read_ms / parsing_ms),
    ]


def milliseconds(said: str, name: str) -> float:
    found = re.search(rf"^ +{re.escape(name)} +(\d+) ms", said, re.MULTILINE)
    if found is None:
        raise SystemExit(f"error: npm run speed does not say `{name}`:\n{said}")
    return float(found[1])
