"""What a garbage collection costs more where collections are recorded (`--gc`): the shortest one there is, again and again.

Owns: the program, and the time of one collection with the option beside the same without. Settings: none.
"""

import os
import statistics
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

from row import Row

ROUNDS = 5
# The young generation is empty each time. What is printed is the time of one call, in nanoseconds.
PROGRAM = """
import gc, time
gc.disable()
gc.collect()
end = time.perf_counter() + 0.5
while time.perf_counter() < end:
    pass
began = time.perf_counter_ns()
for turn in range(20_000):
    gc.collect(0)
print((time.perf_counter_ns() - began) // 20_000)
"""


def rows(options: Namespace, folder: Path) -> list[Row]:
    with_them, without = ([once(options, folder, flags) for _ in range(ROUNDS)] for flags in (["--gc"], []))
    yardstick = f"{statistics.median(without) / 1000:.3f} µs without --gc"
    return [Row("--gc: an empty collection", statistics.median(with_them) / 1000, "µs", yardstick=yardstick)]


def once(options: Namespace, folder: Path, flags: list[str]) -> int:
    program = folder / "collects.py"
    program.write_text(PROGRAM)
    command = [options.genba, "run", "--quiet", "--force", "-o", str(folder / "gc.genba"), *flags, "--python", options.python, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "GENBA_SETTINGS": "none"})
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(command)} ended with {done.returncode}\n{done.stderr}")
    return int(done.stdout)
