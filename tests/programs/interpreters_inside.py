"""Interpreters inside interpreters, three deep: each works, enters the next one, and the innermost waits, too. argv: CPU seconds, threads,
kind of interpreter (own or legacy: with a GIL of its own or the main one's, where the version has both)."""
# families: _a _b

import sys
import threading
import time

FOLDER = __file__.rpartition("/")[0]
INTO = f"import sys; sys.path.insert(0, {FOLDER!r}); import interpreters_inside as program; program."


def module():
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            return __import__(name)
        except ImportError:
            pass
    raise SystemExit("no module for sub-interpreters")


def create(kind):
    if sys.version_info >= (3, 13):
        return module().create("legacy" if kind == "legacy" else "isolated")  # calls: module
    return module().create(isolated=kind != "legacy")  # calls: module


def work_third(count):
    total = 0  # only-under: first second third
    for number in range(count):
        total += number  # only-under: first second third
    return total  # only-under: first second third


def third(kind):
    for _ in range(1000):
        work_third(60)  # calls: work_third
    time.sleep(0.002)


def work_second(count):
    total = 0  # only-under: first second
    for number in range(count):
        total += number  # only-under: first second
    return total  # only-under: first second


def second(kind):
    inner = create(kind)  # calls: create
    for _ in range(1000):
        work_second(60)  # calls: work_second
    module().run_string(inner, f"{INTO}third({kind!r})")  # calls: module, third, <module>
    module().destroy(inner)  # calls: module


def work_first(count):
    total = 0  # only-under: first
    for number in range(count):
        total += number  # only-under: first
    return total  # only-under: first


def first(kind):
    inner = create(kind)  # calls: create
    for _ in range(1000):
        work_first(60)  # calls: work_first
    module().run_string(inner, f"{INTO}second({kind!r})")  # calls: module, second, <module>
    module().destroy(inner)  # calls: module


def turns(cpu_seconds, kind):  # first
    interpreter = create(kind)  # calls: create
    while time.thread_time() < cpu_seconds:
        module().run_string(interpreter, f"{INTO}first({kind!r})")  # calls: module, first, <module>
    module().destroy(interpreter)  # calls: module


def main(cpu_seconds, threads, kind):
    others = []
    for _ in range(threads - 1):
        others.append(threading.Thread(target=turns, args=(cpu_seconds, kind)))
    for other in others:
        other.start()
    turns(cpu_seconds, kind)  # calls: turns
    for other in others:
        other.join()


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3])  # calls: main
