"""`genba heap` against a count of all live blocks that CPython's allocator keeps for objects.

Owns: how much of a program may be missed. Never: believes genba about it: blocks.c counts, from before the interpreter is initialised.
"""

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from figures import Figure
from recording import REPOSITORY, Workshop, genba

MISSED_SHARE_MAX = {11: 0.01}
MISSED_SHARE_MAX_OTHERS = 0.003


@pytest.fixture(scope="session")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("blocks") / "blocks.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", str(REPOSITORY / "tests/programs/blocks.c"), "-o", str(built), "-ldl"], check=True)
    return built


@pytest.mark.measures
def test_hardly_an_object_is_missed(workshop: Workshop, blocks: Path, figure: Figure) -> None:
    library = workshop.take(blocks)
    command = [workshop.interpreter.path, workshop.program("tests/programs/counted.py"), library]
    process = subprocess.Popen(
        workshop.place.command(command), cwd=workshop.place.outside, env=workshop.place.environment({"LD_PRELOAD": library}), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )
    try:
        line = process.stdout.readline()
        assert line.startswith("ready "), process.communicate(timeout=5)[1]
        truth = json.loads(line.removeprefix("ready "))
        done = genba("heap", str(process.pid), "--format", "json")
        assert done.returncode == 0, done.stderr
    finally:
        process.kill()
        process.communicate()
    assert truth["total"] > 250_000 and min(truth["static"].values()) >= 0, truth
    page = json.loads(done.stdout)
    seen, there = Counter(), Counter()
    for row in page["classes"]:
        seen[row["module"], row["name"]] += row["count"]
    for module, name, number in truth["counts"]:
        there[module, name] += number
    for name, number in truth["static"].items():
        there["builtins", name] += number
    missed = {name: number - seen[name] for name, number in there.items() if number > seen[name]}
    share = sum(missed.values()) / truth["total"]
    bound = MISSED_SHARE_MAX.get(workshop.interpreter.minor_number, MISSED_SHARE_MAX_OTHERS)
    figure("objects that genba heap does not reach", share, "share", bound=bound)
    figure("objects that it does not reach", sum(missed.values()), f"of {truth['total']:,}")
    assert share <= bound, (share, sorted(missed.items(), key=lambda item: -item[1])[:12], truth["static"])
    assert page["unreached"]["share_max"] >= bound
