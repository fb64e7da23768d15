"""The time of a look in a process that has faulthandler on, as every run of pytest has, beside the same work without.

Owns: the two ways, the bounds. The program's memory is read with a handler of genba's for faults in front of faulthandler's; where
that handler could not stay, each read would be a system call, and a deep stack would cost tens of microseconds.
"""

from argparse import Namespace
from pathlib import Path

import medians
import recordings
import runs
import ways
from row import Row
from runs import Measured, Place
from ways import Way

LOOK_US_MAX = 15
TIMES_MAX = 1.5
# Each round keeps its recording.
ROUNDS_MAX = runs.RECORDINGS_KEPT
WORKS = ("small_c_calls", "deep_recursion")
WITHOUT, WITH = "genba", "genba, faulthandler"


def rows(options: Namespace, folder: Path) -> list[Row]:
    genba = ways.genba_way(options.genba, options.python, 1_000).command
    chosen = [Way(WITHOUT, genba), Way(WITH, [*genba, "-X", "faulthandler"])]
    rounds = min(options.rounds, ROUNDS_MAX)
    found = []
    for work in WORKS:
        found += judged(runs.measure(work, chosen, rounds, options.seed, Place.here(folder)), options.genba)
    return found


def judged(measured: Measured, genba: str) -> list[Row]:
    if measured.failed:
        print(f"\n{measured.work} with faulthandler: not run: {'; '.join(measured.failed.values())}")
        return []
    looks = {way: [look_us(genba, path) for path in paths] for way, paths in measured.recordings.items()}
    without, beside = medians.median(looks[WITHOUT]), medians.median(looks[WITH])
    ratio = medians.ratios(looks[WITH], looks[WITHOUT])
    words = f"{without.middle:.2f} µs without, {beside.middle:.2f} µs with"
    return [
        Row(f"a look under faulthandler, {measured.work}", beside.middle, "µs", bound=LOOK_US_MAX, yardstick=words, ratio=ratio.middle),
        Row(f"a look under faulthandler beside one without, {measured.work}", ratio.middle, "×", bound=TIMES_MAX, yardstick=f"{ratio}; {words}"),
    ]


def look_us(genba: str, recording: Path) -> float:
    """Mean time of one run of the handler."""
    found = recordings.handler_ns(recordings.exported(genba, recording))
    assert found is not None, f"no run of the handler in {recording}"
    return found / 1e3
