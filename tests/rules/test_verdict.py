"""The verdict: programs that are slow for one reason each, and one that is healthy. The first screen must name the reason, and the
place in the program's own words.

A verdict is a rule about shares of a whole second; nothing here depends on how long the second lasted. So each program computes or
waits for about one on the fastest CPython here: a thousand samples, five times the fewest that a verdict rests on. Those that import much, or
are close to another verdict, take longer.
"""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chains import assert_chains_are_the_trees
from compiled import package_folder
from recording import REPOSITORY, Run, Workshop
from runs_on import EVERYWHERE

pytestmark = pytest.mark.measures


@dataclass(frozen=True)
class Slow:
    """A program of tests/verdicts: how much it does, the verdict's name, and what its lines must hold."""

    amount: str
    verdict: str
    says: tuple[str, ...]
    needs: str | None = None
    in_loop: bool = False
    environment: dict[str, str] = field(default_factory=dict)


PROGRAMS = {
    "one_place": Slow("24", "one place", ("one_place.py:7 pairs", "data[i:]")),
    "one_line": Slow("120", "one line", ("one_line.py:11 gross, in ", "Decimal(str(price))")),
    "one_function": Slow("300", "one function", ("distance (one_function.py), in ",)),
    "spread": Slow("25000", "spread", ("By library:", "your code", "← spread.py")),
    "waiting": Slow("75", "waiting", ("Shares below are of ", "waiting.py:22 fetch   urllib.request.urlopen(url)   waiting for data (recvfrom on a socket), ")),
    "requests_loop": Slow("120", "waiting", ("requests_loop.py:26 fetch   session.get(url)   waiting for data (recvfrom on a socket), ",), needs="requests"),
    "templates": Slow("2400", "spread", ("jinja2   ← templates.py:", "your code ("), needs="jinja2"),
    "gil": Slow("800", "GIL", ("gil.py:8 distance", "(x - y) ** 2", "processes")),
    "start_up": Slow("", "start-up", ("is importing", "start_up.py:13 <module>   import vocabulary")),
    "recursion": Slow("34", "recursion", ("fib (recursion.py:6)", "deep")),
    "server": Slow("300", "one place", ("server.py:14 answer", "copy.deepcopy(ROWS)"), in_loop=True),
    "native_threads": Slow("40", "native threads", ("without Python", "openblas", ", for native_threads.py:9 step   left @ right   (inferred"), needs="numpy", environment={"OPENBLAS_NUM_THREADS": "4"}),
    "healthy": Slow("400", "no single cause", ("the largest expression has",)),
}

# With a package, what `waiting` and `spread` are without one: `make test-all` has them.
ALIKE = {"requests_loop", "templates"}


@pytest.mark.parametrize("name", [name for name in PROGRAMS if EVERYWHERE or name not in ALIKE])
def test_the_first_screen_says_why(workshop: Workshop, name: str) -> None:
    slow = PROGRAMS[name]
    environment = dict(slow.environment)
    if slow.needs:
        pure = (REPOSITORY / "build/tools/site-packages" / slow.needs).exists()
        environment["PYTHONPATH"] = (
            workshop.program("build/tools/site-packages") if pure else package_folder(workshop, slow.needs)
        )
    run = workshop.run(workshop.program(f"tests/verdicts/{name}.py"), *slow.amount.split(), environment=environment)
    judge(run, slow)
    # Of what asyncio's loop runs only some is the row's that started the loop; the tree has all of it there.
    if not slow.in_loop:
        assert_chains_are_the_trees(run)


def test_a_hot_extension(workshop: Workshop, cythonized: Path) -> None:
    """Written in Cython: the call's expression, and the C function below it by its name."""
    built = workshop.take(cythonized)
    run = workshop.run(workshop.program("tests/verdicts/extension.py"), "800", built)
    judge(run, Slow("", "one place", ("extension.py:19 squares   module.call(none, count)",)))
    first = run.report_json()["rows"][0]
    assert {"cythonized.spend", "cythonized.through_c"} & set(first["chain"]), first


def test_collections_and_the_one_at_exit_are_called_so(workshop: Workshop) -> None:
    run = workshop.run(workshop.program("tests/verdicts/gc_heavy.py"), "400")
    judge(run, Slow("", "gc", ("gc_heavy.py", "gc.freeze()")))
    verdict = run.report().split("\n\n")[0]
    says = "at exit: collecting everything that is left" in verdict
    # A stripped interpreter has no name for the function that ends it.
    assert says != ("outside of Python" in verdict), verdict
    assert says or workshop.interpreter.is_stripped, verdict


DEEP = """
import sys, time
sys.setrecursionlimit(100_000)
def down(depth):
    return down(depth - 1) + 1 if depth else sum(range(20_000))
until = time.process_time() + 0.6
while time.process_time() < until: down(int(sys.argv[1]))
"""
# The frames of which a sample has names, and those that are counted beyond them.
COUNTED_MAX = 1536 + (1 << 14)


@pytest.mark.parametrize(("depth", "depth_max", "says"), [(4000, 4001, " ×4001 deep holds "), (60_000, COUNTED_MAX, f" ×{COUNTED_MAX} or more deep holds ")])
def test_a_recursion_that_is_deeper_than_a_sample_holds(workshop: Workshop, depth: int, depth_max: int, says: str) -> None:
    run = workshop.run(workshop.write("down.py", DEEP), str(depth))
    judge(run, Slow("", "recursion", ("down (down.py:4)", says)))
    figures = run.report_json()["verdict"]["figures"]
    assert (figures["depth_max"], figures["is_depth_cut"]) == (depth_max, depth_max == COUNTED_MAX), figures


def judge(run: Run, slow: Slow) -> None:
    assert run.exit_code == 0, run.stderr
    screen = run.report()
    first, *below = screen.splitlines()[2:]
    assert first.startswith(f"{slow.verdict}: "), screen
    verdict = "\n".join([first, *below[: below.index("")]])
    for words in slow.says:
        assert words in verdict, screen
    assert "blocks the event loop" not in screen, screen
    assert run.report_json()["verdict"]["name"] == slow.verdict
