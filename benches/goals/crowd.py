"""`genba view` behind a crowd: the owner's next page after a thousand abandoned requests, beside a thousand that are half open.

Owns: the bound, and the recording. Never: makes the crowd (tests/workshop/visitors.py does).
"""

import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

from row import Row

REPOSITORY = Path(__file__).resolve().parent.parent.parent
# Enough for a page of a second, about.
STACKS = 60_000
BEHIND_RATIO_MAX = 2


def rows(options: Namespace, folder: Path) -> list[Row]:
    recording = folder / "crowd.txt"
    recording.write_text("".join(f"main;request_{number % 977};step_{number} {number % 7 + 1}\n" for number in range(STACKS)))
    command = [sys.executable, str(REPOSITORY / "tests/workshop/visitors.py"), str(options.genba), str(recording)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    idle_ms, behind_ms = found["idle_seconds"] * 1e3, found["behind_seconds"] * 1e3
    return [
        Row(
            "genba view: the next page behind 1,000 abandoned and 1,000 half-open requests",
            behind_ms, "ms", bound=BEHIND_RATIO_MAX * idle_ms, yardstick=f"without them {idle_ms:.0f} ms", ratio=behind_ms / idle_ms,
        ),
    ]
