"""The ways to run the same work: alone, beside an empty handler, under genba, under other profilers.

Owns: each way's command and environment, and the words for one that cannot be had. Never: runs anything that is measured.
A way that is slow or not ours has fewer rounds; the table says how many.
"""

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
PEERS = REPOSITORY / "build/peers"
WORKLOAD = str(HERE / "workload.py")
GENBA = os.environ.get("GENBA_BINARY") or str(REPOSITORY / "target/release/genba")
ROUNDS_OF_PEERS_MAX = 10


@dataclass(frozen=True)
class Way:
    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    sees_c: bool = False
    is_peer: bool = False
    # Why it cannot be run.
    missing: str | None = None
    # Printed below the table.
    note: str | None = None

    def rounds(self, asked: int) -> int:
        return min(asked, ROUNDS_OF_PEERS_MAX) if self.is_peer else asked


def all_ways(python: str, genba: str, folder: Path, before: str = "") -> list[Way]:
    """RECORDING, OUT and OUT.json in a command stand for a recording of the run and for a file that nobody reads. `before`: another genba."""
    empty = empty_handler(folder)
    own = [
        Way("alone", [python]),
        Way("empty 1 kHz", [python], preloaded(empty, 1_000)),
        Way("empty 10 kHz", [python], preloaded(empty, 10_000)),
        *(genba_way(genba, python, rate) for rate in (1_000, 10_000)),
        *(genba_way(before, python, rate, "before") for rate in (1_000, 10_000) if before),
    ]
    return own + peers(folder)


def genba_way(genba: str, python: str, rate: int, name: str = "genba") -> Way:
    command = [genba, "run", "--quiet", "--force", "--rate", str(rate), "-o", "RECORDING", python]
    return Way(f"{name} {rate // 1_000} kHz", command, sees_c=True)


def preloaded(library: Path, rate: int) -> dict[str, str]:
    return {"LD_PRELOAD": str(library), "EMPTY_HANDLER_INTERVAL_NS": str(10**9 // rate)}


def empty_handler(folder: Path) -> Path:
    library = folder / "empty_handler.so"
    source = str(HERE / "empty_handler.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-pthread", source, "-o", str(library), "-ldl"], check=True)
    return library


def peers(folder: Path) -> list[Way]:
    """Each in an environment of its own, made by `make/prepare.sh peers`; at 1 kHz where it can be told."""
    spy = str(PEERS / "py-spy/bin/py-spy")
    return [
        peer(
            "py-spy",
            [spy, "record", "-n", "-r", "1000", "-f", "raw", "-o", "OUT", "--", venv("py-spy")],
            sees_c=True,
            note="py-spy -n reads from another process: its CPU is added to the program's",
        ),
        peer(
            "vmprof",
            [venv("vmprof"), "-m", "vmprof", "--period", "0.001", "-o", "OUT"],
            note="vmprof's wheel brings no libunwind: where none is installed it sees Python frames only",
        ),
        peer("scalene", [venv("scalene"), "-m", "scalene", "run", "--cpu-only", "--cpu-sampling-rate", "0.001", "-o", "OUT.json"]),
        peer("pyinstrument", [venv("pyinstrument"), "-m", "pyinstrument", "-i", "0.001", "-o", "OUT"]),
    ]


def peer(name: str, command: list[str], *, sees_c: bool = False, note: str | None = None) -> Way:
    missing = None
    if not Path(venv(name)).exists():
        why = PEERS / name / "why-not"
        missing = why.read_text().strip() if why.exists() else "make/prepare.sh peers has not been run"
    return Way(name, command, sees_c=sees_c, is_peer=True, missing=missing, note=note)


def venv(name: str) -> str:
    return str(PEERS / name / "bin/python")


def program(way: Way, workload: str, work: str, result: str) -> list[str]:
    """What follows the way's own words. Scalene wants a sign between the script and its arguments."""
    divider = ["---"] if way.name == "scalene" else []
    return [workload, *divider, work, result]


def packages() -> list[str]:
    """The folders with the packages that works import, for PYTHONPATH: `imports`, and what works/real.py starts."""
    return [str(folder) for folder in (PEERS / "packages", REPOSITORY / "build/tools/site-packages") if folder.exists()]


def environment(way: Way) -> dict[str, str]:
    wanted = {**os.environ, **way.environment}
    if folders := packages():
        wanted["PYTHONPATH"] = os.pathsep.join(folders)
    return wanted
