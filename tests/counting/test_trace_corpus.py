"""`genba trace` beside cProfile on the programs of the other tests and of the casebook: the same functions, calls and callers in the programs' own files.

Owns: with which arguments each program runs here, and why a program is left out. A clock that moves on by a millisecond at each look takes the place of the
program's clocks, so that a program that works for some time does the same each time.
"""

import ast
import marshal
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from recording import REPOSITORY, Workshop
from test_trace import both_files

FOLDERS = ("tests/programs", "tests/programs/expressions", "tests/first_screen", "tests/first_screen/untuned", "tests/verdicts", "casebook/*")
NAMELESS = {ast.Lambda: "<lambda>", ast.GeneratorExp: "<genexpr>", ast.ListComp: "<listcomp>", ast.SetComp: "<setcomp>", ast.DictComp: "<dictcomp>"}
CLOCK = """
import time

looked_ns = 0

def look_ns():
    global looked_ns
    looked_ns += 1_000_000
    return looked_ns

def look():
    return look_ns() / 1e9

time.process_time = time.thread_time = time.monotonic = look
time.process_time_ns = time.thread_time_ns = time.monotonic_ns = look_ns
"""
CORPUS = """
casebook/bytes-slice/slow.py 3000
casebook/bytes-slice/fixed.py 3000
casebook/clock/slow.py 3000
casebook/clock/fixed.py 3000
casebook/error-numbers/slow.py casebook/error-numbers/made.txt
casebook/error-numbers/fixed.py casebook/error-numbers/made.txt --python
casebook/gc-cycle/fixed.py 3000
casebook/gc-json/slow.py 500
casebook/gc-json/slow.py 500 c
casebook/gc-json/fixed.py 500
casebook/gc-out-of-band/slow.py 3
casebook/heap/slow.py 2000
casebook/heap/fixed.py 2000
casebook/hello-again/slow.py 1500
casebook/hello-again/fixed.py 1500
casebook/json-ascii/slow.py False 20
casebook/json-ascii/slow.py True 20
casebook/json-ascii/fixed.py False 20
casebook/json-errors/slow.py 10
casebook/json-errors/slow.py errors
casebook/json-errors/fixed.py 10
casebook/logger/fixed.py 1000
casebook/repeat/fixed.py
casebook/two-callers/slow.py 5
casebook/two-callers/fixed.py 5
tests/first_screen/backtracking.py 1
tests/first_screen/blocked_loop.py 1
tests/first_screen/cache_misses.py 1
tests/first_screen/commits.py 10
tests/first_screen/deepcopies.py 3
tests/first_screen/exceptions.py 3
tests/first_screen/json_indent.py 1
tests/first_screen/life.py 3
tests/first_screen/linear_search.py 500
tests/first_screen/pipeline.py 2000
tests/first_screen/prepend.py 1000
tests/first_screen/silent_log.py 200
tests/first_screen/untuned/attributes.py 3
tests/first_screen/untuned/byte_buffer.py 500
tests/first_screen/untuned/cache_keys.py 50
tests/first_screen/untuned/csv_decimals.py 1
tests/first_screen/untuned/dates.py 1
tests/first_screen/untuned/pop_front.py 1000
tests/first_screen/untuned/sorting.py 200
tests/first_screen/untuned/unindexed.py 3
tests/programs/allocations.py large
tests/programs/allocations.py family
tests/programs/bias.py 8
tests/programs/bursts.py 3 free
tests/programs/chains.py 3 20 2
tests/programs/churn.py 0.01
tests/programs/compared.py orders 1 0
tests/programs/compared.py words 1 0
tests/programs/compared.py matrix 1 0
tests/programs/compared.py trees 1 0
tests/programs/compared.py digests 1 0
tests/programs/coroutines.py 0.05
tests/programs/cycled.py key:3 two_dicts tree:2 slots circle in_tuple closure generator local traceback weak ends with_dict keys in_use hanging
tests/programs/deep.py 0.005
tests/programs/deep_c.py 0.005
tests/programs/flat.py 0.02
tests/programs/generators.py 0.005
tests/programs/hello.py proof
tests/programs/in_step.py 3
tests/programs/many_builtins.py 0.0015
tests/programs/nested.py 0.02
tests/programs/operators.py 0.005
tests/programs/own_signals.py faulthandler
tests/programs/same_names.py lambdas 1
tests/programs/same_names.py dispatched 3
tests/programs/shared_leaf.py 0.005
tests/programs/sort_in_sub.py 0.005
tests/programs/system_calls.py getppid 1
tests/programs/traced.py
tests/verdicts/fixed_gc_heavy.py 5
tests/verdicts/fixed_healthy.py 2
tests/verdicts/fixed_one_function.py 2
tests/verdicts/fixed_one_line.py 1
tests/verdicts/fixed_one_place.py 1
tests/verdicts/fixed_recursion.py 30
tests/verdicts/fixed_spread.py 20
tests/verdicts/fixed_start_up.py
tests/verdicts/gc_heavy.py 5
tests/verdicts/healthy.py 2
tests/verdicts/never_waiting.py hashes 2
tests/verdicts/never_waiting.py reads 5
tests/verdicts/never_waiting.py messages 5
tests/verdicts/one_function.py 2
tests/verdicts/one_line.py 1
tests/verdicts/one_place.py 1
tests/verdicts/recursion.py 15
tests/verdicts/spread.py 20
""".strip().splitlines()

THREADS = "threads: cProfile takes all of them for one stack, or counts one"
PROCESSES = "forks, or starts other programs: their calls are in files of their own"
PACKAGES = "needs packages, which not every CPython here has"
LIBRARY = "needs a library that is compiled first"
INPUT = "waits for its input, or runs until it is ended"
CHANCE = "by chance: what it does differs from run to run"
NETWORK = "sockets: how often it waits differs from run to run"
COLLECTIONS = "prints how often the collector ran, which the objects of a tracer change"
PART = "does nothing by itself"
GENBA = "imports genba"
LEFT_OUT = {
    "casebook/chunk-pull/behind.py": PROCESSES,
    "casebook/chunk-pull/fixed.py": THREADS,
    "casebook/chunk-pull/image.py": PART,
    "casebook/chunk-pull/pull.py": THREADS,
    "casebook/chunk-pull/slow.py": THREADS,
    "casebook/connectx/diag.py": NETWORK,
    "casebook/connectx/fixed.py": PROCESSES,
    "casebook/connectx/slow.py": PROCESSES,
    "casebook/connectx/unlocked.py": PROCESSES,
    "casebook/connectx/workers.py": PART,
    "casebook/error-numbers/messages.py": PART,
    "casebook/gc-cycle/slow.py": COLLECTIONS,
    "casebook/gc-cycle/wait.py": INPUT,
    "casebook/gc-out-of-band/fixed.py": GENBA,
    "casebook/gc-threshold/fixed.py": COLLECTIONS,
    "casebook/gc-threshold/slow.py": COLLECTIONS,
    "casebook/logger/slow.py": "prints how much memory is asked for, by the tracer, too",
    "casebook/mask/bridge.py": PART,
    "casebook/mask/bytewise.py": THREADS,
    "casebook/mask/fixed.py": THREADS,
    "casebook/mask/slow.py": THREADS,
    "casebook/orm/fill.py": PACKAGES,
    "casebook/orm/fixed.py": PACKAGES,
    "casebook/orm/mariadb.py": PACKAGES,
    "casebook/orm/shop.py": PACKAGES,
    "casebook/orm/slow.py": PACKAGES,
    "casebook/repeat/slow.py": "fills a gigabyte, and calls nothing",
    "casebook/utf8-copy/build.py": PROCESSES,
    "casebook/utf8-copy/constant.py": LIBRARY,
    "casebook/utf8-copy/fixed.py": LIBRARY,
    "casebook/utf8-copy/served.py": PROCESSES,
    "casebook/utf8-copy/slow.py": LIBRARY,
    "tests/first_screen/applied.py": PACKAGES,
    "tests/first_screen/commands.py": PROCESSES,
    "tests/first_screen/compiled_templates.py": PACKAGES,
    "tests/first_screen/held_lock.py": THREADS,
    "tests/first_screen/pickled.py": PROCESSES,
    "tests/first_screen/pixels.py": PACKAGES,
    "tests/first_screen/pool_of_threads.py": THREADS,
    "tests/first_screen/untuned/polling.py": THREADS,
    "tests/first_screen/untuned/two_writers.py": THREADS,
    "tests/programs/accounted.py": PROCESSES,
    "tests/programs/attached.py": THREADS,
    "tests/programs/behind_uwsgi.py": GENBA,
    "tests/programs/bounced.py": LIBRARY,
    "tests/programs/changing.py": CHANCE,
    "tests/programs/collecting.py": THREADS,
    "tests/programs/copies.py": "copies gigabytes",
    "tests/programs/copies_attached.py": INPUT,
    "tests/programs/counted.py": LIBRARY,
    "tests/programs/crowd.py": THREADS,
    "tests/programs/cycle_rounds.py": INPUT,
    "tests/programs/eight_threads.py": THREADS,
    "tests/programs/exec_chain.py": PROCESSES,
    "tests/programs/expressions/drive.py": "runs files that are made first",
    "tests/programs/foreign.py": LIBRARY,
    "tests/programs/fork_storm.py": PROCESSES,
    "tests/programs/forks.py": PROCESSES,
    "tests/programs/gevents.py": PACKAGES,
    "tests/programs/greenlets.py": PACKAGES,
    "tests/programs/hashes.py": THREADS,
    "tests/programs/heap_server.py": THREADS,
    "tests/programs/heaped.py": THREADS,
    "tests/programs/held.py": THREADS,
    "tests/programs/holds.py": LIBRARY,
    "tests/programs/in_place_of_cprofile.py": GENBA,
    "tests/programs/interpreters_inside.py": THREADS,
    "tests/programs/interrupted.py": "waits for a signal while genba attaches",
    "tests/programs/killed_children.py": PROCESSES,
    "tests/programs/leader.py": PROCESSES,
    "tests/programs/loads.py": LIBRARY,
    "tests/programs/loads_and_moves.py": LIBRARY,
    "tests/programs/loads_slowly.py": LIBRARY,
    "tests/programs/never_the_same.py": THREADS,
    "tests/programs/out_of_band.py": GENBA,
    "tests/programs/parallel_threads.py": THREADS,
    "tests/programs/pool.py": PROCESSES,
    "tests/programs/progress.py": INPUT,
    "tests/programs/restless.py": THREADS,
    "tests/programs/served.py": PART,
    "tests/programs/short_threads.py": THREADS,
    "tests/programs/signals_in_python.py": CHANCE,
    "tests/programs/sized.py": "ends by os._exit, where cProfile writes nothing",
    "tests/programs/sized_heap.py": "asks for memory by the hundred megabytes",
    "tests/programs/sleepers.py": THREADS,
    "tests/programs/stale.py": LIBRARY,
    "tests/programs/standing.py": THREADS,
    "tests/programs/starter.py": PROCESSES,
    "tests/programs/starved.py": PROCESSES,
    "tests/programs/stationary.py": INPUT,
    "tests/programs/storm.py": THREADS,
    "tests/programs/sub_interpreters.py": "runs in subinterpreters, which genba does not count",
    "tests/programs/throws.py": LIBRARY,
    "tests/programs/two_sleeps.py": THREADS,
    "tests/programs/uwsgi_alone.py": PACKAGES,
    "tests/programs/wakers.py": THREADS,
    "tests/programs/wasted.py": THREADS,
    "tests/programs/watched.py": "has tracers of its own: test_beside.py",
    "tests/programs/web_server.py": THREADS,
    "tests/programs/with_cython.py": LIBRARY,
    "tests/programs/with_numpy.py": PACKAGES,
    "tests/programs/workers.py": PROCESSES,
    "tests/verdicts/extension.py": LIBRARY,
    "tests/verdicts/fixed_gil.py": PROCESSES,
    "tests/verdicts/fixed_requests_loop.py": PACKAGES,
    "tests/verdicts/gil.py": THREADS,
    "tests/verdicts/native_threads.py": PACKAGES,
    "tests/verdicts/requests_loop.py": PACKAGES,
    "tests/verdicts/server.py": NETWORK,
    "tests/verdicts/short_waits.py": THREADS,
    "tests/verdicts/start_up.py": "four million calls while it is imported",
    "tests/verdicts/templates.py": PACKAGES,
    "tests/verdicts/vocabulary.py": "four million calls",
    "tests/verdicts/waiting.py": THREADS,
}


def twins(folder: Path) -> set[tuple[str, int, str]]:
    """Functions without a name that begin in one line: genba adds them up, and cProfile keeps one of them."""
    found: Counter[tuple[str, int, str]] = Counter()
    for path in folder.glob("*.py"):
        found.update((path.name, node.lineno, NAMELESS[type(node)]) for node in ast.walk(ast.parse(path.read_text())) if type(node) in NAMELESS)
    return {function for function, count in found.items() if count > 1}


def rows(profile: Path, folder: str, left_out: set[tuple[str, int, str]]) -> Counter[tuple]:
    """(primitive calls, calls) of each function of the folder's files, and of any function by each caller there. A function of such a file by its callers in
    C, too: `sorted` and `map` call those that they are given."""
    is_own = lambda function: os.path.dirname(function[0]) == folder or function[0].startswith("<churn_")
    is_left_out = lambda function: (os.path.basename(function[0]), *function[1:]) in left_out
    found: Counter[tuple] = Counter()

    def add(*row: tuple, numbers: tuple[int, int]) -> None:
        # Some functions in C have an address in their name.
        named = tuple((file, line, re.sub(" at 0x[0-9a-f]+", "", name)) for file, line, name in row)
        for kind, number in zip(("primitive", "calls"), numbers, strict=True):
            found[*named, kind] += number

    for function, (primitive, calls, _, _, callers) in marshal.loads(profile.read_bytes()).items():
        # cProfile has imported some modules before the program does. Of what namedtuple and dataclass make in a `<string>`, several are called the same.
        if is_left_out(function) or function[0].startswith(("<frozen importlib", "<string>")):
            continue
        if is_own(function):
            add(function, numbers=(primitive, calls))
        for caller, (of_caller, of_caller_primitive, *_) in callers.items():
            # cProfile itself starts the program, by exec.
            is_by_c = is_own(function) and caller[0] == "~" and function[2] != "<module>"
            if (is_own(caller) and not is_left_out(caller)) or is_by_c:
                add(function, caller, numbers=(of_caller_primitive, of_caller))
    return found


@pytest.mark.parametrize("line", CORPUS)
def test_calls_are_those_of_cprofile(workshop: Workshop, line: str) -> None:
    name, *words = line.split()
    arguments = [workshop.program(word) if "/" in word else word for word in words]
    workshop.write("sitecustomize.py", CLOCK)
    program = workshop.program(name)
    environment = {"PYTHONPATH": workshop.place.inside, "PYTHONHASHSEED": "1"}
    files = both_files(workshop, program, *arguments, environment=environment)
    left_out = twins((REPOSITORY / name).parent)
    ours, theirs = (rows(file, os.path.dirname(program), left_out) for file in files)
    assert theirs and ours == theirs


def test_every_program_runs_here_or_has_a_reason() -> None:
    programs = {path.relative_to(REPOSITORY).as_posix() for folder in FOLDERS for path in REPOSITORY.glob(f"{folder}/*.py")}
    run = {line.split()[0] for line in CORPUS}
    assert run | LEFT_OUT.keys() == programs and run.isdisjoint(LEFT_OUT)
