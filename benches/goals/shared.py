"""What a request to `genba serve` takes with PostgreSQL and an S3 store of three copies, beside the same with one data folder, all on this machine.

Owns: the words. Never: asks (tests/serve/costs.py does). No bound: it is a table for who chooses. Needs `make/prepare.sh garage`, and PostgreSQL.
"""

import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

from row import Row

REPOSITORY = Path(__file__).resolve().parent.parent.parent
GARAGE = Path(os.environ.get("GENBA_GARAGE") or Path.home() / ".cache/genba/garage") / "bin/garage"
POSTGRES = Path("/usr/lib/postgresql")


def rows(options: Namespace, folder: Path) -> list[Row]:
    if not GARAGE.exists() or not any(POSTGRES.glob("*/bin/initdb")):
        print("\na server with PostgreSQL and S3: not run: it needs PostgreSQL (make prepare, as root) and make/prepare.sh garage")
        return []
    place = folder / "shared"
    place.mkdir()
    command = [sys.executable, str(REPOSITORY / "tests/serve/costs.py"), str(place)]
    variables = {**os.environ, "GENBA_BINARY": str(options.genba)}
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=variables).stdout.splitlines()
    return [row(json.loads(line)) for line in lines]


def row(line: dict) -> Row:
    alone_ms, shared_ms = line["alone_milliseconds"], line["shared_milliseconds"]
    name = f"a server with PostgreSQL and S3: {line['figure']}"
    return Row(name, shared_ms, "ms", yardstick=f"with one folder {alone_ms:.1f} ms", ratio=shared_ms / alone_ms)
