"""Memory that genba adds to the program: largest resident size, and its own share of pages at the end."""

import json
import subprocess
from argparse import Namespace
from pathlib import Path

import medians
import recordings
from row import Row

ADDED_MB_MAX = 16
ROUNDS = 5
# Long enough for all unwind rows to be there; the figures are the kernel's, in kB.
PROGRAM = """
import json, sys, time
until = time.perf_counter() + 0.4
while time.perf_counter() < until: pass
found = {}
for name in ("/proc/self/status", "/proc/self/smaps_rollup"):
    for line in open(name):
        word, _, rest = line.partition(":")
        if word in ("VmHWM", "Pss"):
            found[word] = int(rest.split()[0])
json.dump(found, open(sys.argv[1], "w"))
"""


def rows(options: Namespace, folder: Path) -> list[Row]:
    result = folder / "memory.json"
    program = ["-c", PROGRAM, str(result)]
    bare, profiled = [], []
    for _ in range(ROUNDS):
        subprocess.run([options.python, *program], check=True)
        bare.append(json.loads(result.read_text()))
        recordings.made(options, folder / "memory.genba", 1_000, *program)
        profiled.append(json.loads(result.read_text()))
    found = []
    for word, name in (("VmHWM", "largest resident size"), ("Pss", "proportional share at the end")):
        before = medians.median([one[word] * 1024 / 1e6 for one in bare]).middle
        after = medians.median([one[word] * 1024 / 1e6 for one in profiled]).middle
        goal = f"memory added: {name}"
        found.append(Row(goal, after - before, "MB", bound=ADDED_MB_MAX, yardstick=f"bare {before:.1f} MB", ratio=after / before))
    return found
