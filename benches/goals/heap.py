"""What it costs a program that `genba heap` counts its objects: how long it is held, and what the copy of it takes.

Owns: the bounds, for two million objects of a hundred megabytes, and the figures a million objects beside them. `--live-only`, `refs`, `genba gc cycles`
and what requests lose meanwhile have figures and no bound. Settings: HEAPS (12 looks each way).
"""

import json
import os
import select
import statistics
import subprocess
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable
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
CYCLES = 100_000
ANSWER_SECONDS = 5
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
        none_waits = [look(options, program.pid, "--fork", verb=("gc", "cycles")) for _ in range(3)]
        lost = requests(options, program, objects) if bounded else []
        peers = beside(program) if bounded else ""
        said(program, f"cycles {CYCLES}")
        some_wait = [look(options, program.pid, "--fork", verb=("gc", "cycles")) for _ in range(3)]
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
        *after("genba gc cycles", none_waits),
        *after(f"genba gc cycles with {CYCLES:,} cycles", some_wait),
        *lost,
    ]


def median(pages: list[dict], key: str) -> float:
    return statistics.median(page[key] for page in pages) / 1e6


def look(options: Namespace, pid: int, *way: str, verb: tuple[str, ...] = ("heap",)) -> dict:
    watch = Watch(pid)
    watch.start()
    page = asked(options, pid, *way, verb=verb)
    watch.end.set()
    watch.join()
    return {**page, "private_mb": watch.most_kb / 1000}


def asked(options: Namespace, pid: int, *way: str, verb: tuple[str, ...] = ("heap",)) -> dict:
    command = [options.genba, *verb, str(pid), *way, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(command)} ended with {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def requests(options: Namespace, program: subprocess.Popen, objects: int) -> list[Row]:
    """What requests take while one look follows the other, and what a look costs by the number of requests, beside what it says itself."""
    pages: list[dict] = []
    alone = answered(program, lambda: time.sleep(0.01))
    looked_at = answered(program, lambda: pages.append(asked(options, program.pid, "--fork")))
    lost_ms = ANSWER_SECONDS * 1000 * (1 - looked_at["requests"] / alone["requests"]) / len(pages)
    own = f"genba says: held for {median(pages, 'pause_ns'):.2f} ms, threads stopped for {median(pages, 'stopped_ns'):.2f} ms"
    faults = f"{statistics.median(page['page_faults'] for page in pages):,.0f} page faults"
    latency = f"alone {alone['p99_ms']:.2f} ms; median {looked_at['median_ms']:.2f} ms, alone {alone['median_ms']:.2f} ms; {len(pages)} looks in {ANSWER_SECONDS} s"
    million = objects // 1_000_000
    return [
        Row(f"heap: 99 % of requests take at most, one look after the other, {million} M objects", looked_at["p99_ms"], "ms", yardstick=latency),
        Row(f"heap: requests lose with each look, {million} M objects", lost_ms, "ms", yardstick=f"{own}, {faults}"),
    ]


def answered(program: subprocess.Popen, meanwhile: Callable[[], object]) -> dict:
    write(program, f"answer {ANSWER_SECONDS}")
    while not select.select([program.stdout], [], [], 0)[0]:
        meanwhile()
    return json.loads(program.stdout.readline())


def said(program: subprocess.Popen, line: str) -> dict:
    write(program, line)
    return json.loads(program.stdout.readline())


def write(program: subprocess.Popen, line: str) -> None:
    program.stdin.write(f"{line}\n")
    program.stdin.flush()


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
    words = ""
    for peer in PEERS:
        answer = said(program, f"peer {peer}")
        words += f"; {peer} not installed" if answer["objects"] is None else f"; {peer} {answer['ms']:.0f} ms for {answer['objects'] / 1e6:.2f} M objects"
    return words
