"""`genba bench --py` beside pyperf, on twenty of pyperformance's benchmarks: the same function, in the same interpreter, and how far the means are apart.

Owns: which benchmarks, and the comparison. Never: judges a single one: of twenty that are equal, one differs by chance. Needs
build/peers/pyperformance (make/prepare.sh peers). It takes a quarter of an hour; MEANS_OF=nbody,go asks for some only.
"""

import json
import math
import os
import statistics
from argparse import Namespace
from pathlib import Path

import ways
from commands import claims_by_chance, must_run
from row import Row

FOLDER = ways.PEERS / "pyperformance"
# Those with one function in their script that is timed whole, and without a library of others. Some of these functions look at a clock themselves: it
# tells all of the call but 1 %.
NAMES = [
    "chaos", "coroutines", "decimal_factorial", "decimal_pi", "deltablue", "fannkuch", "float", "go", "hexiom", "json_dumps",
    "json_loads", "meteor_contest", "nbody", "nqueens", "pidigits", "pyflate", "raytrace", "richards", "richards_super", "spectral_norm",
]  # fmt: skip
# Each has a turn of pyperf's, one of genba's, and one of pyperf's again, so that a machine that drifts slows both alike.
BLOCKS = 5
# Of a turn of pyperf's; genba has twice as many in its one.
PROCESSES = 2
# Student's t of so many blocks: 95 % of equal means are less far apart.
STANDARD_ERRORS = 2.78


def rows(options: Namespace, folder: Path) -> list[Row]:
    python = FOLDER / "bin/python"
    if not python.exists():
        print("bench --py beside pyperf is not measured: make/prepare.sh peers has not installed pyperformance")
        return []
    [scripts] = FOLDER.glob("lib/python3*/site-packages/pyperformance/data-files/benchmarks")
    asked = [name for name in os.environ.get("MEANS_OF", "").split(",") if name] or NAMES
    ratios, apart, found = {}, [], []
    for name in asked:
        script = scripts / f"bm_{name}" / "run_benchmark.py"
        blocks = [block(options.genba, python, script, folder) for _ in range(BLOCKS)]
        logs = [math.log(genba / pyperf) for genba, pyperf in blocks]
        margin = STANDARD_ERRORS * statistics.stdev(logs) / math.sqrt(BLOCKS)
        ratios[name] = math.exp(statistics.fmean(logs))
        if abs(statistics.fmean(logs)) > margin:
            apart.append(name)
        genba, pyperf = (statistics.fmean(side) * 1e3 for side in zip(*blocks, strict=True))
        print(f"  {name:18} {genba:9.3f} ms, pyperf {pyperf:9.3f} ms, ratio {ratios[name]:.3f} ± {margin * 100:.1f} %", flush=True)
        yardstick = f"± {margin * 100:.1f} %; genba {genba:.3f} ms, pyperf {pyperf:.3f} ms"
        found.append(Row(f"bench --py: mean of {name} beside pyperf's", ratios[name], "×", yardstick=yardstick))
    values = sorted(ratios.values())
    named = f"; {', '.join(apart)}" if apart else ""
    words = f"median ratio {statistics.median(values):.3f}, from {values[0]:.3f} to {values[-1]:.3f}{named}"
    goal = "bench --py: means further from pyperf's than both vary"
    return [Row(goal, len(apart), f"of {len(asked)}", bound=claims_by_chance(len(asked)), yardstick=words, ratio=statistics.median(values)), *found]


def block(genba: str, python: Path, script: Path, folder: Path) -> tuple[float, float]:
    """genba's mean and pyperf's, in seconds."""
    before = by_pyperf(python, script, folder / "before.json")
    own = by_genba(genba, python, script, folder / "genba.json")
    after = by_pyperf(python, script, folder / "after.json")
    return statistics.fmean(own), statistics.fmean([*before, *after])


def by_pyperf(python: Path, script: Path, out: Path) -> list[float]:
    """The mean of each process, in seconds, of one call of the function."""
    out.unlink(missing_ok=True)
    must_run([str(python), str(script), "--quiet", "--processes", str(PROCESSES), "-o", str(out)])
    document = json.loads(out.read_text())
    [benchmark] = document["benchmarks"]
    # pyperf divides by the turns that the function makes by itself.
    inner = {**document.get("metadata", {}), **benchmark.get("metadata", {})}.get("inner_loops", 1)
    return [statistics.fmean(run["values"]) * inner for run in benchmark["runs"] if "values" in run]


def by_genba(genba: str, python: Path, script: Path, out: Path) -> list[float]:
    helper = str(Path(__file__).parent.parent / "works")
    setup = f"import sys; sys.path.insert(0, {helper!r}); from pyperformance_work import work; run = work({str(script)!r})"
    must_run([genba, "bench", "--style", "none", "--py", "--python", str(python), "--runs", str(2 * PROCESSES), "--setup", setup, "--export-json", str(out), "run()"])
    [result] = json.loads(out.read_text())["results"]
    return result["times"]
