"""`genba bench` beside other counts of the kernel: page faults that wait for a disk, and switches that a program did not ask for.

How many there are depends on the machine. So the bounds are two counts of the same runs that genba does not make: what the program reads of itself
shortly before its end, and what the kernel adds up of the bench and of all processes below it.
"""

import json
import mmap
import os
import subprocess
import sys
from pathlib import Path

import pytest

from recording import binary

# Looks at a file, page by page, that the kernel has to fetch again. Nothing is read ahead.
FETCHES = """\
with open("pages", "rb") as file:
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    room = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
room.madvise(mmap.MADV_RANDOM)
seen = sum(room[at] for at in range(0, len(room), mmap.PAGESIZE))
"""
# Computes on one CPU beside a child that does so, too, until the kernel has interrupted it twenty times.
IS_INTERRUPTED = """\
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
parent, child = os.getpid(), os.fork()
if child == 0:
    while os.getppid() == parent: pass
    os._exit(0)
while resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw < 20: pass
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
"""
TELLS = """\
used = resource.getrusage(resource.RUSAGE_SELF)
with open("counts", "a") as counts: print(used.ru_majflt, used.ru_nivcsw, file=counts)
"""
# The same two counts of a command and of all processes below it.
OF_ALL = """\
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_majflt, used.ru_nivcsw)
"""


@pytest.mark.parametrize(("program", "key"), [(FETCHES, "major_faults"), (IS_INTERRUPTED, "involuntary_switches")], ids=["fetches", "is interrupted"])
def test_a_run_has_what_the_kernel_counts(program: str, key: str, tmp_path: Path) -> None:
    with (tmp_path / "pages").open("wb") as file:
        file.write(os.urandom(64 * mmap.PAGESIZE))
        file.flush()
        # Only what is on the disk can be fetched from there.
        os.fsync(file.fileno())
    (tmp_path / "program.py").write_text(f"import mmap, os, resource, signal\n{program}{TELLS}")
    bench = [str(binary()), "bench", "-N", "-r", "3", "--export-json", "bench.json", f"{sys.executable} program.py"]
    done = subprocess.run([sys.executable, "-c", OF_ALL, *bench], cwd=tmp_path, capture_output=True, text=True, check=True)
    position = ["major_faults", "involuntary_switches"].index(key)
    count_of = lambda line: int(line.split()[position])
    by_programs = [count_of(line) for line in (tmp_path / "counts").read_text().splitlines()]
    if program == FETCHES and not all(by_programs):
        pytest.skip(f"the file system of {tmp_path} keeps its files in memory")
    [result] = json.loads((tmp_path / "bench.json").read_text())["results"]
    counted = result["genba"][key]
    assert len(counted) == len(by_programs) == 3, (counted, by_programs)
    assert all(0 < own <= of_run for own, of_run in zip(by_programs, counted)), (counted, by_programs)
    assert sum(counted) <= count_of(done.stdout), (counted, done.stdout)
