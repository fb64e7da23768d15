"""Two sub-interpreters take turns on one thread; each runs one family of this very file. argv: CPU seconds.
The frames of the main interpreter belong to another thread state and lie below those of the inner one."""
# families: _a _b

import sys
from time import process_time


def work_a(count):
    total = 0
    for number in range(count):
        total += number
    return total


def inner_a(count):
    return work_a(count) + work_a(count)  # calls: work_a


def turn_a():
    for _ in range(100):
        inner_a(60)  # calls: inner_a


def work_b(count):
    total = 0
    for number in range(count):
        total += number
    return total


def inner_b(count):
    return work_b(count) + work_b(count)  # calls: work_b


def turn_b():
    for _ in range(100):
        inner_b(60)  # calls: inner_b



def interpreters():
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            return __import__(name)
        except ImportError:
            pass
    raise SystemExit("no module for sub-interpreters")


def main(cpu_seconds):
    module = interpreters()  # calls: interpreters
    first, second = module.create(), module.create()
    prepare = f"import sys; sys.path.insert(0, {__file__.rpartition('/')[0]!r}); import sub_interpreters as program"
    for each in (first, second):
        module.run_string(each, prepare)  # calls: <module>
    while process_time() < cpu_seconds:
        module.run_string(first, "program.turn_a()")  # calls: turn_a
        module.run_string(second, "program.turn_b()")  # calls: turn_b
    module.destroy(first)
    module.destroy(second)


if __name__ == "__main__":
    main(float(sys.argv[1]))  # calls: main
