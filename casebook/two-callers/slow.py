"""foo and bar both call sum12, with opposite halves of work. Prints what it measured itself: CPU of each half by caller."""

import json
import sys
from time import thread_time_ns

measured_ns = {"foo": [0, 0], "bar": [0, 0]}


def sum1(n):
    return sum(range(n))


def sum2(m):
    return sum(range(m))


def sum12(n, m, caller):
    start_ns = thread_time_ns()
    sum1(n)
    middle_ns = thread_time_ns()
    sum2(m)
    end_ns = thread_time_ns()
    measured_ns[caller][0] += middle_ns - start_ns
    measured_ns[caller][1] += end_ns - middle_ns


def foo():
    sum12(10_000, 100_000, "foo")


def bar():
    sum12(30_000, 10_000, "bar")


if __name__ == "__main__":
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
        foo()
        bar()
    print(json.dumps(measured_ns))
