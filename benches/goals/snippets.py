"""`genba bench --py` beside pyperf, on twenty of pyperformance's benchmarks: the same function, in the same interpreter, and how far the means are apart.

Owns: which benchmarks, and the comparison. Never: judges by a bound: of twenty that are equal, one differs by chance. Needs build/peers/pyperformance
(make/prepare.sh peers). It takes half an hour; MEANS_OF=nbody,go asks for some only.
"""

import json
import math
import os
import shlex
import statistics
import subprocess
from argparse import Namespace
from pathlib import Path

import ways
from row import Row

FOLDER = ways.PEERS / "pyperformance"
# Those with one function in their script that is timed whole, and without a library of others. Some of these functions look at a clock themselves: it
# tells all of the call but 1 %.
NAMES = [
    "chaos", "coroutines", "decimal_factorial", "decimal_pi", "deltablue", "fannkuch", "float", "go", "hexiom", "json_dumps",
    "json_loads", "meteor_contest", "nbody", "nqueens", "pidigits", "pyflate", "raytrace", "richards", "richards_super", "spectral_norm",
]  # fmt: skip
# Of each tool in each half; pyperf's half is measured before and after genba's, so that a steady drift is in both alike.
PROCESSES = 10
# Of Student's t, as far as 19 degrees of freedom allow: 95 % of equal means are less far apart.
DEVIATIONS = 2.1


def rows(options: Namespace, folder: Path) -> list[Row]:
    python = FOLDER / "bin/python"
    if not python.exists():
        print("bench --py beside pyperf is not measured: make/prepare.sh peers has not installed pyperformance")
        return []
    [scripts] = FOLDER.glob("lib/python3*/site-packages/pyperformance/data-files/benchmarks")
    asked = [name for name in os.environ.get("MEANS_OF", "").split(",") if name] or NAMES
    ratios, apart = {}, []
    for name in asked:
        script = scripts / f"bm_{name}" / "run_benchmark.py"
        before = by_pyperf(python, script, folder / "before.json")
        genba = by_genba(options.genba, python, script, folder / "genba.json")
        pyperf = [*before, *by_pyperf(python, script, folder / "after.json")]
        ratios[name] = statistics.fmean(genba) / statistics.fmean(pyperf)
        error = math.hypot(*(statistics.stdev(means) / math.sqrt(len(means)) / statistics.fmean(means) for means in (genba, pyperf)))
        if abs(ratios[name] - 1) > DEVIATIONS * error:
            apart.append(name)
        print(f"  {name:18} {statistics.fmean(genba) * 1e3:9.3f} ms, pyperf {statistics.fmean(pyperf) * 1e3:9.3f} ms, ratio {ratios[name]:.3f} ± {DEVIATIONS * error:.3f}", flush=True)
    values = sorted(ratios.values())
    words = f"median ratio {statistics.median(values):.3f}, from {values[0]:.3f} to {values[-1]:.3f}{f'; {', '.join(apart)}' if apart else ''}"
    return [Row("bench --py: means further from pyperf's than both vary", len(apart), f"of {len(asked)}", yardstick=words, ratio=statistics.median(values))]


def by_pyperf(python: Path, script: Path, out: Path) -> list[float]:
    """The mean of each process, in seconds, of one call of the function."""
    out.unlink(missing_ok=True)
    said([str(python), str(script), "--quiet", "--processes", str(PROCESSES), "-o", str(out)])
    document = json.loads(out.read_text())
    [benchmark] = document["benchmarks"]
    # pyperf divides by the turns that the function makes by itself.
    inner = {**document.get("metadata", {}), **benchmark.get("metadata", {})}.get("inner_loops", 1)
    return [statistics.fmean(run["values"]) * inner for run in benchmark["runs"] if "values" in run]


def by_genba(genba: str, python: Path, script: Path, out: Path) -> list[float]:
    helper = str(Path(__file__).parent.parent / "works")
    setup = f"import sys; sys.path.insert(0, {helper!r}); from pyperformance_work import work; run = work({str(script)!r})"
    said([genba, "bench", "--style", "none", "--py", "--python", str(python), "--runs", str(2 * PROCESSES), "--setup", setup, "--export-json", str(out), "run()"])
    [result] = json.loads(out.read_text())["results"]
    return result["times"]


def said(words: list[str]) -> None:
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"error: {shlex.join(words)} ended with {done.returncode}\n{done.stderr}")
