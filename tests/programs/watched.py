"""Two equal call paths while a function of Python is called for each line and call. argv: CPU seconds, settrace, setprofile
or monitoring."""
# families: _a _b

import sys
from time import process_time


def spend(count):
    total = 0
    for number in range(count):
        total += number
    return total


def trace(frame, event, argument):  # anywhere
    spend(3)  # calls: spend
    return trace


def on_line(code, line):  # anywhere
    spend(3)  # calls: spend


def on_return(code, offset, value):  # anywhere
    spend(3)  # calls: spend


def work_a(count):
    total = 0
    for number in range(count):
        total += number
    return total


def inner_a(count):
    total = work_a(count)  # calls: work_a
    return total + work_a(count)  # calls: work_a


def generate_a(count):
    for number in range(3):
        yield inner_a(count)  # calls: inner_a


def outer_a(count):
    for _ in generate_a(count):  # calls: generate_a
        inner_a(count)  # calls: inner_a


def work_b(count):
    total = 0
    for number in range(count):
        total += number
    return total


def inner_b(count):
    total = work_b(count)  # calls: work_b
    return total + work_b(count)  # calls: work_b


def generate_b(count):
    for number in range(3):
        yield inner_b(count)  # calls: inner_b


def outer_b(count):
    for _ in generate_b(count):  # calls: generate_b
        inner_b(count)  # calls: inner_b



def watch(how):
    if how == "monitoring":
        monitoring = sys.monitoring
        monitoring.use_tool_id(monitoring.PROFILER_ID, "test")
        monitoring.register_callback(monitoring.PROFILER_ID, monitoring.events.LINE, on_line)
        monitoring.register_callback(monitoring.PROFILER_ID, monitoring.events.PY_RETURN, on_return)
        monitoring.set_events(monitoring.PROFILER_ID, monitoring.events.LINE | monitoring.events.PY_RETURN)
    else:
        getattr(sys, how)(trace)


def unwatch(how):
    if how == "monitoring":
        sys.monitoring.free_tool_id(sys.monitoring.PROFILER_ID)
    else:
        getattr(sys, how)(None)


def main(cpu_seconds, how):
    turn = 0
    while process_time() < cpu_seconds:
        turn += 1
        if turn % 20 == 1:
            watch(how)  # calls: watch
        if turn % 20 == 11:
            unwatch(how)  # calls: unwatch
        outer_a(10)  # calls: outer_a
        outer_b(10)  # calls: outer_b
    if 1 <= turn % 20 <= 10:
        # The interpreter's end has functions of its own that would be watched.
        unwatch(how)  # calls: unwatch


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2])  # calls: main
