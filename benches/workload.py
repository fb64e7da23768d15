"""The program of `make bench`: a fixed amount of work, and what it cost while it ran.

argv: a name of WORKS, and a file for the result. The figures span the work alone, not start-up and end: CPU of this process (with all
threads in it, a profiler's too), of the children that it waited for, and of its parent, because some profilers look from there; a parent
that only waits adds nothing.
"""

import json
import os
import sys
from pathlib import Path
from time import clock_gettime_ns, perf_counter_ns, process_time_ns

from works import WORKS, real


def parent_ns():
    """CPU of the parent process; its clock's number is made of the pid (clock_getcpuclockid(3))."""
    return clock_gettime_ns((~os.getppid() << 3) | 2)


def measured(work):
    begin = perf_counter_ns(), process_time_ns(), parent_ns(), real.children_ns()
    own_figures = work()
    end = perf_counter_ns(), process_time_ns(), parent_ns(), real.children_ns()
    wall_ns, own_ns, observer_ns, children_ns = (after - before for after, before in zip(end, begin))
    of_work = {"wall_ns": wall_ns, "cpu_ns": own_ns + observer_ns + children_ns, "sampler_ns": sampler_ns()}
    return of_work | (own_figures or {})


def sampler_ns():
    """CPU so far of the thread that samples this process, genba's or the empty handler's, as the kernel counts it."""
    names = {"genba", "empty handler"}
    tasks = Path("/proc/self/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks if (task / "comm").read_text().strip() in names)


if __name__ == "__main__":
    result = measured(WORKS[sys.argv[1]])
    Path(sys.argv[2]).write_text(json.dumps(result))
