"""The signal handler, measured inside it on CPython 3.15 (benches/handler): its walk beside framehop's on the same stacks, beside
a step over frame pointers, and its worst run of 100,000 beside a loop that does nothing for as long.

Owns: how that library is built and started, and the rows. Never: leaves a run out: those during which the kernel counted a
context switch of the thread are in the first row, and the second says what is left without them. What the machine itself
does (interrupts, a hypervisor that takes the CPU away) the loop shows. The process runs under SCHED_RR, which the chroot's root
may: what other processes leave of the CPU and its caches is not the question here, and both sides run under it.
"""

import json
import os
import shutil
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import newest
from row import Row

BENCHES = Path(__file__).resolve().parent.parent
LIBRARY = "libgenba_bench_handler.so"
FRAMEHOP_SHARE_MAX = 1 / 15
FRAME_POINTER_STEPS_MAX = 10
WORST_MEDIANS_MAX = 20
LEVELS = "8"
Quantiles = dict[str, float]


def rows(options: Namespace, _folder: Path) -> list[Row]:
    sid = Path(os.environ.get("GENBA_SID") or Path.home() / ".cache/genba/sid")
    if missing := newest.why_not(sid):
        print(f"\nthe handler on CPython 3.15: not run: {missing}")
        return []
    place = sid / f"tmp/genba-bench-handler-{os.getpid()}"
    place.mkdir(parents=True)
    try:
        found = measured(sid, place, options.seed, int(os.environ.get("HANDLER_RUNS") or 100_000))
    finally:
        shutil.rmtree(place)
    return [beside_framehop(found), beside_frame_pointers(found), *worst(found)]


def measured(sid: Path, place: Path, seed: int, runs: int) -> dict[str, Quantiles]:
    build = ["cargo", "build", "--quiet", "--locked", "--release", "--package", "genba-bench-handler"]
    subprocess.run(build, check=True, cwd=BENCHES.parent)
    shutil.copy2(BENCHES.parent / "target/release" / LIBRARY, place)
    shutil.copy2(BENCHES / "works/deep_work.py", place)
    inside = "/" + str(place.relative_to(sid))
    work = [f"{inside}/deep_work.py", f"{inside}/{LIBRARY}", str(runs), str(seed), LEVELS]
    ahead = lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(5))
    command = [newest.CHROOT, str(sid), newest.PYTHON, *work]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=ahead)
    if done.returncode != 0 or done.stdout.startswith("error:"):
        sys.exit(f"error: {' '.join(work)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def beside_framehop(found: dict[str, Quantiles]) -> Row:
    own, other = found["Rows first"]["median"], found["Framehop first"]["median"]
    depth, depth_there = found["Rows frames"]["median"], found["Framehop frames"]["median"]
    again, again_there = found["Rows again"]["median"], found["Framehop again"]["median"]
    words = (
        f"{own / 1e3:.2f} µs for {depth:.0f} frames, framehop {other / 1e3:.1f} µs for {depth_there:.0f};"
        f" the same stack once more at once {again / 1e3:.2f} and {again_there / 1e3:.2f} µs"
    )
    return Row("handler: walk over C frames beside framehop", own / other, "×", bound=FRAMEHOP_SHARE_MAX, yardstick=words)


def beside_frame_pointers(found: dict[str, Quantiles]) -> Row:
    own, step = found["Rows again per frame"]["median"], found["FramePointers again per frame"]["median"]
    words = f"{own:.1f} ns a frame, a frame-pointer step {step:.2f} ns"
    goal = "handler: C frame when warm beside a frame-pointer step"
    return Row(goal, own / step, "×", bound=FRAME_POINTER_STEPS_MAX, yardstick=words)


def worst(found: dict[str, Quantiles]) -> list[Row]:
    every, quiet = found["Handler first"], found["Handler undisturbed"]
    loop, quiet_loop = found["Nothing first"], found["Nothing undisturbed"]
    rows = []
    for name, own, yardstick in (("", every, loop), (" without a context switch inside", quiet, quiet_loop)):
        words = f"{spelled(own)}; a loop that does nothing for as long: {spelled(yardstick)}"
        goal = f"handler: worst of {own['count']:,.0f} runs{name}, in medians"
        rows.append(Row(goal, own["max"] / own["median"], "×", bound=WORST_MEDIANS_MAX, yardstick=words))
    return rows


def spelled(quantiles: Quantiles) -> str:
    names = (("median", "median"), ("p99", "99 %"), ("p999", "99.9 %"), ("max", "worst"))
    return ", ".join(f"{said} {quantiles[name] / 1e3:.1f} µs" for name, said in names)
