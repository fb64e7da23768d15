"""`genba view` and `genba serve` behind a crowd: the owner's next page after a thousand abandoned requests, with `view` also beside a thousand that are half open.

Owns: the bound, and the recording. Never: makes the crowd (tests/workshop/visitors.py and tests/serve/abandoned.py do).
"""

import json
import os
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
    view = ["tests/workshop/visitors.py", str(options.genba), str(recording)]
    serve = ["tests/serve/abandoned.py", str(folder), str(recording)]
    return [
        row("genba view: the next page behind 1,000 abandoned and 1,000 half-open requests", view, options),
        row("genba serve: the next tree behind 1,000 abandoned requests, each with another question", serve, options),
    ]


def row(name: str, script: list[str], options: Namespace) -> Row:
    command = [sys.executable, str(REPOSITORY / script[0]), *script[1:]]
    variables = {**os.environ, "GENBA_BINARY": str(options.genba)}
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=variables).stdout)
    idle_ms, behind_ms = found["idle_seconds"] * 1e3, found["behind_seconds"] * 1e3
    return Row(name, behind_ms, "ms", bound=BEHIND_RATIO_MAX * idle_ms, yardstick=f"without them {idle_ms:.0f} ms", ratio=behind_ms / idle_ms)
