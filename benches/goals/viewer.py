"""The flame graph in use in a real Chromium: frames while it is zoomed and scrolled, the time until it is drawn, and memory, beside
speedscope with the same stacks.

Owns: the sizes and the bounds. Never: says more than the machine allows: without a graphics card speedscope's WebGL is drawn in software,
and the rows say so.
"""

import json
import subprocess
from argparse import Namespace
from pathlib import Path

from row import Row

REPOSITORY = Path(__file__).resolve().parent.parent.parent
SIZES = (1_000, 10_000, 100_000)
# 60 a second; a browser's frames come a little later or earlier.
FRAME_MS_MAX = 1_000 / 60 * 1.05
NOTE = "WebGL in software"


def rows(_options: Namespace, _folder: Path) -> list[Row]:
    command = ["node", str(REPOSITORY / "tests/page/beside.mjs"), *map(str, SIZES)]
    subprocess.run(["npm", "--prefix", str(REPOSITORY / "web"), "run", "--silent", "build"], check=True)
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    found = {(line["boxes"], line["viewer"]): line for line in map(json.loads, lines)}
    return [row for size in SIZES for row in of_size(size, found[size, "genba"], found[size, "speedscope"])]


def of_size(boxes: int, own: dict, other: dict) -> list[Row]:
    frame_ms, other_ms = (1_000 / viewer["frames_per_second"] for viewer in (own, other))
    frames = f"{own['frames_per_second']:.1f} a second, slowest {own['frame_max_ms']:.0f} ms; speedscope ({NOTE}) {other['frames_per_second']:.1f} a second, slowest {other['frame_max_ms']:.0f} ms"
    heap_mb, other_mb = (viewer["heap_bytes"] / 1e6 for viewer in (own, other))
    opened = f"speedscope ({NOTE}) {other['opened_ms']:.0f} ms"
    shown = f"the flame graph of {boxes:,} boxes"
    return [
        Row(f"{shown}: a frame while it is zoomed and scrolled", frame_ms, "ms", bound=FRAME_MS_MAX, yardstick=frames, ratio=frame_ms / other_ms),
        Row(f"{shown}: until it is drawn", own["opened_ms"], "ms", yardstick=opened, ratio=own["opened_ms"] / other["opened_ms"]),
        Row(f"{shown}: memory of JavaScript", heap_mb, "MB", yardstick=f"speedscope {other_mb:.1f} MB", ratio=heap_mb / other_mb),
    ]
