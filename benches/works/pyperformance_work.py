"""What a benchmark of pyperformance measures, as a function without arguments: its script is run with a pyperf that only keeps what it is given.

Owns: that pyperf. Never: measures.
"""

import argparse
import runpy
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar


class Runner:
    last: ClassVar["Runner"]
    kept: Callable[[], Any]

    def __init__(self, **_: object) -> None:
        self.metadata: dict[str, object] = {}
        self.argparser = argparse.ArgumentParser()
        Runner.last = self

    def parse_args(self) -> argparse.Namespace:
        return self.argparser.parse_args([])

    def bench_func(self, _name: str, function: Callable[..., Any], *arguments: object, inner_loops: int = 1) -> None:
        self.kept = lambda: function(*arguments)

    def bench_time_func(self, _name: str, function: Callable[..., Any], *arguments: object, inner_loops: int = 1) -> None:
        """`function` takes the number of loops first."""
        self.kept = lambda: function(1, *arguments)


def work(script: str) -> Callable[[], Any]:
    """Of the one benchmark in this `run_benchmark.py`. The real pyperf is imported, too: what a process has loaded moves its objects in memory, and
    some of the benchmarks take some per cent more or less time for that."""
    import pyperf  # noqa: F401, PLC0415

    stand_in = ModuleType("pyperf")
    stand_in.Runner, stand_in.perf_counter = Runner, time.perf_counter
    sys.modules["pyperf"] = stand_in
    runpy.run_path(script, run_name="__main__")
    return Runner.last.kept
