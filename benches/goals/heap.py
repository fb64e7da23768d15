"""What it costs a program that `genba heap` counts its objects: how long it is held, and what the copy of it takes.

Owns: the bounds, for two million objects of a hundred megabytes, and the figures a million objects beside them. `--live-only` and `refs` have figures and no bound. Settings: HEAPS (12 looks each way).
"""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from argparse import Namespace
from pathlib import Path

import ways
from row import Row

WORK = str(Path(__file__).resolve().parent.parent / "works/million_rows.py")
HEAPS = 12
OBJECTS = 2_000_000
MORE_OBJECTS = 10_000_000
FORKED_MS_MAX = 5
IN_PLACE_MS_MAX = 150
PRIVATE_MB_MAX = 4
CLASS = "__main__.Row"
PEERS = ("guppy3", "pympler", "objgraph")


def rows(options: Namespace, folder: Path) -> list[Row]:
    del folder
    heaps = int(os.environ.get("HEAPS") or HEAPS)
    found = of(options, OBJECTS, heaps, bounded=True)
    return found + of(options, MORE_OBJECTS, max(3, heaps // 4), bounded=False)


def of(options: Namespace, objects: int, heaps: int, *, bounded: bool) -> list[Row]:
    environment = {**os.environ, "PYTHONPATH": str(ways.PEERS / "heaps")}
    program = subprocess.Popen([options.python, WORK, str(objects)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        program.stdout.readline()
        forked = [look(options, program.pid, "--fork") for _ in range(heaps)]
        private_mb = max(page["private_mb"] for page in forked)
        if private_mb == 0:
            sys.exit("error: nobody but root may read the memory of a copy\nhint: run this part as root")
        live = [look(options, program.pid, "--fork", "--live-only") for _ in range(3)]
        led = [look(options, program.pid, "--fork", "--class", CLASS, verb=("heap", "refs")) for _ in range(3)]
        in_place = [look(options, program.pid, "--in-place") for _ in range(heaps)]
        peers = beside(program) if bounded else ""
    finally:
        program.kill()
        program.wait()
    million, counted = objects // 1_000_000, forked[0]["objects"] / 1_000_000

    def row(name: str, value: float, unit: str, bound: float, yardstick: str) -> Row:
        return Row(f"heap: {name}, {million} M objects", value, unit, bound=bound if bounded else None, yardstick=yardstick)

    def after(what: str, pages: list[dict]) -> list[Row]:
        lives, private = median(pages, "walk_ns"), max(page["private_mb"] for page in pages)
        return [
            Row(f"heap: the copy of {what} lives, {million} M objects", lives, "ms", bound=None, yardstick=f"{lives / counted:.0f} ms a million"),
            Row(f"heap: private memory of the copy of {what}, {million} M objects", private, "MB", bound=None, yardstick=f"{private / counted:.1f} MB a million"),
        ]

    pause, held = median(forked, "pause_ns"), median(in_place, "pause_ns")
    return [
        row("the program is held for a copy", pause, "ms", FORKED_MS_MAX, f"{pause / counted:.2f} ms a million; the copy lives for {median(forked, 'walk_ns'):.0f} ms"),
        row("the program is held in place", held, "ms", IN_PLACE_MS_MAX, f"{held / counted:.1f} ms a million{peers}"),
        row("private memory of the copy", private_mb, "MB", PRIVATE_MB_MAX, "seen every millisecond"),
        *after("--live-only", live),
        *after("genba heap refs", led),
    ]


def median(pages: list[dict], key: str) -> float:
    return statistics.median(page[key] for page in pages) / 1e6


def look(options: Namespace, pid: int, *way: str, verb: tuple[str, ...] = ("heap",)) -> dict:
    watch = Watch(pid)
    watch.start()
    command = [options.genba, *verb, str(pid), *way, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    watch.end.set()
    watch.join()
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(command)} ended with {done.returncode}\n{done.stderr}")
    return {**json.loads(done.stdout), "private_mb": watch.most_kb / 1000}


class Watch(threading.Thread):
    """The most private memory that a child of the program has had. Its oom_score_adj marks the copy."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self.pid, self.end, self.most_kb = pid, threading.Event(), 0

    def run(self) -> None:
        while not self.end.is_set():
            for task in Path(f"/proc/{self.pid}/task").iterdir():
                self.look_below(task)
            time.sleep(0.001)

    def look_below(self, task: Path) -> None:
        try:
            for child in (task / "children").read_text().split():
                rollup = Path(f"/proc/{child}/smaps_rollup").read_text()
                self.most_kb = max(self.most_kb, sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private")))
        except OSError:
            pass


def beside(program: subprocess.Popen) -> str:
    said = ""
    for peer in PEERS:
        program.stdin.write(f"peer {peer}\n")
        program.stdin.flush()
        answer = json.loads(program.stdout.readline())
        said += f"; {peer} not installed" if answer["objects"] is None else f"; {peer} {answer['ms']:.0f} ms for {answer['objects'] / 1e6:.2f} M objects"
    return said
