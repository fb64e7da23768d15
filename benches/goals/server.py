"""`genba serve` under load: 50 uploads at once of 20 MB, reads for a minute, and lists and searches of 10,000 recordings.

Owns: the bounds. Never: makes the load (tests/serve/load.py does). Settings: SERVER_READ_SECONDS (60), SERVER_RECORDINGS (10000).
"""

import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

from row import Row

REPOSITORY = Path(__file__).resolve().parent.parent.parent
READS_A_SECOND_MIN = 500
# Beside a page of a server that has ten recordings.
LIST_RATIO_MAX = 2


def rows(options: Namespace, folder: Path) -> list[Row]:
    place = folder / "serve"
    place.mkdir()
    command = [sys.executable, str(REPOSITORY / "tests/serve/load.py"), str(place)]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment(options)).stdout.splitlines()
    found = {line.pop("figure"): line for line in map(json.loads, lines)}
    uploads, reads, pushes = (found.pop(name) for name in ("uploads", "reads", "pushes"))
    plain = f"written and synced as plain files {uploads['plain_seconds']:.2f} s"
    page = "the first page of 10 recordings {:.2f} ms"
    read_ms = 1_000 / reads["per_second"]
    said = f"{reads['per_second']:,.0f} a second for {reads['seconds']:.0f} s, 99 of 100 within {reads['p99_milliseconds']:.1f} ms"
    return [
        Row(f"50 uploads at once, {uploads['megabytes']:,.0f} MB", uploads["seconds"], "s", yardstick=plain, ratio=uploads["seconds"] / uploads["plain_seconds"]),
        Row(f"one small upload of {pushes['count']:,}", pushes["seconds"] / pushes["count"] * 1e3, "ms", yardstick="4 at once"),
        Row("reads by 16 connections: time for each", read_ms, "ms", bound=1_000 / READS_A_SECOND_MIN, yardstick=said),
        Row("reads that failed", reads["errors"], "requests", bound=0, yardstick=said),
        *(
            Row(
                f"{name}, {line['count']:,} recordings",
                line["milliseconds"],
                "ms",
                bound=LIST_RATIO_MAX * line["few_milliseconds"],
                yardstick=page.format(line["few_milliseconds"]),
                ratio=line["milliseconds"] / line["few_milliseconds"],
            )
            for name, line in found.items()
        ),
    ]


def environment(options: Namespace) -> dict[str, str]:
    return {**os.environ, "GENBA_BINARY": str(options.genba)}
