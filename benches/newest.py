"""The section for CPython 3.15: genba beside the interpreter's own `profiling.sampling`, inside the Debian sid folder.

Owns: what is copied there and taken away again. Never: fails where there is no such folder: it says so.
"""

import os
import shutil
from argparse import Namespace
from pathlib import Path

import machine
import runs
import table
import ways
from ways import HERE, REPOSITORY, Way

PYTHON = "/usr/bin/python3.15"
WORKS = ("pure_python", "bytes_slice", "small_c_calls", "threads_8")
CHROOT = shutil.which("chroot") or "/usr/sbin/chroot"
NOTE = "profiling.sampling reads from another process: its CPU is added to the program's"


def section(options: Namespace, folder: Path) -> tuple[str, dict]:
    """Markdown, and the same as data."""
    sid = Path(os.environ.get("GENBA_SID") or Path.home() / ".cache/genba/sid")
    missing = why_not(sid)
    if missing:
        print(f"\nCPython 3.15: not run: {missing}")
        return f"CPython 3.15: not run: {missing}", {"not_run": missing}
    place = sid / f"tmp/genba-bench-{os.getpid()}"
    try:
        return measured(options, sid, place, ways.empty_handler(folder))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def why_not(sid: Path) -> str | None:
    if not (sid / PYTHON[1:]).exists():
        return f"no python3.15 in the Debian sid folder {sid} (make prepare, as root)"
    if os.geteuid() != 0:
        return f"python3.15 is in {sid}, which only root can enter"
    if not (sid / "proc/self").exists():
        return f"{sid}/proc is not mounted (the tests do it: make test)"
    return None


def measured(options: Namespace, sid: Path, outside: Path, empty_handler: Path) -> tuple[str, dict]:
    copy_works(outside)
    shutil.copy2(options.genba, outside / "genba")
    shutil.copy2(empty_handler, outside / "empty_handler.so")
    inside = "/" + str(outside.relative_to(sid))
    prefix = (CHROOT, str(sid), "/usr/bin/env", f"--chdir={inside}", f"XDG_CACHE_HOME={inside}/cache", "PATH=/usr/bin:/bin")
    place = runs.Place(outside, inside, f"{inside}/benches/workload.py", prefix)
    chosen = own_ways(inside)
    works = [work for work in WORKS if work in options.works]
    words = machine.version(PYTHON, list(prefix))
    print(f"\n{words}, in Debian sid\n{table.head()}")
    found = []
    for work in works:
        found.append(runs.measure(work, chosen, options.rounds, options.seed, place))
        print("\n".join(table.lines(found[-1], chosen)), flush=True)
    print(f"note: {NOTE}")
    data = [table.as_data(one, chosen) for one in found]
    return f"{words}, in Debian sid\n\n{table.markdown(found, chosen)}", {"python": words, "costs": data}


def copy_works(outside: Path) -> None:
    (outside / "benches").mkdir(parents=True)
    (outside / "casebook").mkdir()
    shutil.copy2(HERE / "workload.py", outside / "benches")
    shutil.copytree(HERE / "works", outside / "benches/works")
    shutil.copytree(REPOSITORY / "casebook/bytes-slice", outside / "casebook/bytes-slice")


def own_ways(inside: str) -> list[Way]:
    """As ways.all_ways has them; LD_PRELOAD must not be seen by the chroot command itself, which runs outside."""
    empty = ways.preloaded(Path(f"{inside}/empty_handler.so"), 1_000)
    sampling = [PYTHON, "-m", "profiling.sampling", "run", "-r", "1khz", "-a", "--native", "--collapsed", "-o", "OUT"]
    return [
        Way("alone", [PYTHON]),
        Way("empty 1 kHz", ["/usr/bin/env", *(f"{name}={value}" for name, value in empty.items()), PYTHON]),
        ways.genba_way(f"{inside}/genba", PYTHON, 1_000),
        Way("sampling", sampling, is_peer=True, note=NOTE),
    ]
