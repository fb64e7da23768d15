"""Slow programs of the kinds that people have: the first screen names the reason and the place.

A program has two points where the verdict names the reason and its lines the place, and one where only the screen's rows hold the place.
`points` is what a program must have at least; all but those that say why have both.
"""

from dataclasses import dataclass, replace

import pytest

from chains import assert_chains_are_the_trees
from compiled import package_folder
from recording import REPOSITORY, Workshop
from runs_on import EVERYWHERE

pytestmark = pytest.mark.measures


@dataclass(frozen=True)
class Slow:
    """A program of tests/first_screen: how much it does, names of the right verdicts, and what the verdict's lines must hold. test_verdict.py has others."""

    amount: str
    verdicts: tuple[str, ...]
    place: tuple[str, ...]
    needs: str | None = None
    points: int = 2
    in_loop: bool = False


PROGRAMS = {
    "applied": Slow("40", ("one line", "one function"), ("applied.py:9 spread_of", 'group["value"].max()'), needs="pandas"),
    "backtracking": Slow("60", ("one place",), ("backtracking.py:10 matching", "NESTED.match(line)")),
    "blocked_loop": Slow("10", ("one place",), ("blocked_loop.py:10 login", "hashlib.pbkdf2_hmac(", "blocks the event loop: at least "), in_loop=True),
    "cache_misses": Slow("100", ("one line", "one function"), ("cache_misses.py", "steps")),
    "commands": Slow("400", ("waiting",), ("commands.py:8 size   subprocess.run(",)),
    # A fast disk keeps the CPU as busy as the program waits.
    "commits": Slow("2000", ("waiting", "one place"), ("commits.py:12 store   database.commit()",)),
    "compiled_templates": Slow("1000", ("one place",), ("compiled_templates.py:11 page   Template(",), needs="jinja2"),
    "deepcopies": Slow("1200", ("one place",), ("deepcopies.py:10 handle   copy.deepcopy(SETTINGS)",)),
    "exceptions": Slow("1000", ("one place",), ("exceptions.py:8 number   int(text)",)),
    "held_lock": Slow("40", ("waiting",), ("held_lock.py:12 update", "waiting for a lock (futex)")),
    "json_indent": Slow("250", ("one place",), ("json_indent.py:10 page   json.dumps(rows, indent=2)",)),
    "life": Slow("2400", ("one line", "one function"), ("step", "counts.get(near, 0)")),
    "linear_search": Slow("14000", ("one place",), ("linear_search.py:9 distinct   value not in found",)),
    # No rule adds up what is pickled and what is read back.
    "pickled": Slow("160", ("no single cause", "one place"), ("reduction.py:", "pickled.py:8 worker"), points=1),
    # Nor rows that are copied again and again.
    "pipeline": Slow("1500000", ("no single cause", "one place"), ("pipeline.py:13 taxed   {**row,",), points=1),
    "pixels": Slow("60", ("one line", "one place"), ("pixels.py:11 brighten", "image[y, x]"), needs="numpy"),
    "pool_of_threads": Slow("64", ("GIL",), ("pool_of_threads.py:10 digits", "processes")),
    "prepend": Slow("15000", ("one place",), ("prepend.py:9 newest_first   line + text",)),
    "silent_log": Slow("40000", ("one place",), ("silent_log.py:10 describe", "{value!r}")),
}
# One expression that calls C, as in backtracking, silent_log and one_place (test_verdict.py), and one line or function in Python, as in cache_misses,
# one_line and one_function: `make test-all` has them.
ALIKE = {"applied", "compiled_templates", "deepcopies", "exceptions", "json_indent", "life", "linear_search", "prepend"}


@pytest.mark.parametrize("name", [name for name in PROGRAMS if EVERYWHERE or name not in ALIKE])
def test_the_first_screen(workshop: Workshop, name: str) -> None:
    slow = PROGRAMS[name]
    if workshop.interpreter.lists_lock_waits:
        slow = replace(slow, place=tuple(text.replace("a lock (futex)", "a threading.Lock (futex)") for text in slow.place))
    environment = {}
    if slow.needs:
        pure = (REPOSITORY / "build/tools/site-packages" / slow.needs).exists()
        environment["PYTHONPATH"] = (
            workshop.program("build/tools/site-packages") if pure else package_folder(workshop, slow.needs)
        )
    run = workshop.run(workshop.program(f"tests/first_screen/{name}.py"), slow.amount, environment=environment)
    assert run.exit_code == 0, run.stderr
    screen = run.report()
    print(screen)
    assert points(slow, screen) >= slow.points, screen
    # What asyncio's loop runs is not the row's that started the loop; the tree has all of it there.
    if not slow.in_loop:
        assert_chains_are_the_trees(run)


def points(slow: Slow, screen: str) -> int:
    verdict, rows = screen.split("\n\n", 1)
    says = any(f"\n{name}: " in verdict for name in slow.verdicts)
    if says and all(words in verdict for words in slow.place):
        return 2
    name = slow.place[0].split("   ")[0]
    return int(name in verdict or name in rows)
