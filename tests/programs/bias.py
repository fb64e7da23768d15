"""Does what a profiler may see with a bias, and measures it itself: work written out against the same work in many small calls,
C against Python, garbage collection. The part to do next is drawn by chance, so that no part keeps step with a sampler.
argv: CPU milliseconds for each share. Prints the
nanoseconds of both parts: {"calls_5": [first, second]}."""

import gc
import json
import sys
from random import Random
from time import thread_time_ns

# A part takes about a millisecond: reading the clock around it, which its own measure contains and genba sees outside of it, is little beside that.
STEPS = 30_000
HAYSTACK = b"ab" * 600_000


def written_out():
    total = 0
    for number in range(STEPS):
        total += number * number
    return total


def in_calls():
    total = 0
    for number in range(STEPS * 3 // 10):
        total = add(total, number)
    return total


def add(total, number):
    return total + number * number


def in_c():
    return HAYSTACK.find(b"bb")


def in_python():
    total = 0
    for number in range(STEPS):
        total += number * number
    return total


class Deck:
    """Twenty cards, as many of them `first` as the share says, shuffled anew when the last one is drawn: drawn by chance, and however few are
    drawn on a slow machine, both parts are among the first twenty."""

    CARDS = 20

    def __init__(self, chance):
        self.chance, self.left = chance, {}

    def is_first(self, name, share):
        left = self.left.setdefault(name, [])
        if not left:
            firsts = round(self.CARDS * share)
            left += [True] * firsts + [False] * (self.CARDS - firsts)
            self.chance.shuffle(left)
        return left.pop()


def sweep(name, first, second, share, cpu_ns, drawn):
    """Both parts' own nanoseconds."""
    first_ns = second_ns = 0
    until_ns = thread_time_ns() + cpu_ns
    while True:
        begin_ns = thread_time_ns()
        if begin_ns > until_ns:
            return first_ns, second_ns
        if drawn.is_first(name, share):
            first()
            first_ns += thread_time_ns() - begin_ns
        else:
            second()
            second_ns += thread_time_ns() - begin_ns


def collecting(name, kept, share, cpu_ns, drawn):
    """Nanoseconds between the collector's two calls of `gc.callbacks`, and of all else."""
    collected_ns = began_ns = 0

    def called(phase, _):
        nonlocal collected_ns, began_ns
        if phase == "start":
            began_ns = thread_time_ns()
        else:
            collected_ns += thread_time_ns() - began_ns

    gc.callbacks.append(called)
    begin_ns = thread_time_ns()
    while thread_time_ns() < begin_ns + cpu_ns:
        if drawn.is_first(name, share):
            gc.collect()
        else:
            in_python()
    whole_ns = thread_time_ns() - begin_ns
    gc.callbacks.remove(called)
    return collected_ns, whole_ns - collected_ns


def calls_5(cpu_ns, drawn):
    return sweep("calls_5", in_calls, written_out, 0.05, cpu_ns, drawn)


def calls_25(cpu_ns, drawn):
    return sweep("calls_25", in_calls, written_out, 0.25, cpu_ns, drawn)


def calls_50(cpu_ns, drawn):
    return sweep("calls_50", in_calls, written_out, 0.50, cpu_ns, drawn)


def calls_75(cpu_ns, drawn):
    return sweep("calls_75", in_calls, written_out, 0.75, cpu_ns, drawn)


def calls_95(cpu_ns, drawn):
    return sweep("calls_95", in_calls, written_out, 0.95, cpu_ns, drawn)


def c_5(cpu_ns, drawn):
    return sweep("c_5", in_c, in_python, 0.05, cpu_ns, drawn)


def c_25(cpu_ns, drawn):
    return sweep("c_25", in_c, in_python, 0.25, cpu_ns, drawn)


def c_50(cpu_ns, drawn):
    return sweep("c_50", in_c, in_python, 0.50, cpu_ns, drawn)


def c_75(cpu_ns, drawn):
    return sweep("c_75", in_c, in_python, 0.75, cpu_ns, drawn)


def c_95(cpu_ns, drawn):
    return sweep("c_95", in_c, in_python, 0.95, cpu_ns, drawn)


def gc_25(cpu_ns, drawn):
    return collecting("gc_25", [[] for _ in range(20_000)], 0.25, cpu_ns, drawn)


def gc_75(cpu_ns, drawn):
    return collecting("gc_75", [[] for _ in range(20_000)], 0.75, cpu_ns, drawn)


def main(cpu_ns):
    gc.disable()
    drawn, measured_ns = Deck(Random(3)), {}
    for _ in range(4):
        for one in (calls_5, calls_25, calls_50, calls_75, calls_95, c_5, c_25, c_50, c_75, c_95, gc_25, gc_75):
            before = measured_ns.get(one.__name__, (0, 0))
            parts_ns = one(cpu_ns // 4, drawn)
            measured_ns[one.__name__] = (before[0] + parts_ns[0], before[1] + parts_ns[1])
    print(json.dumps(measured_ns))


if __name__ == "__main__":
    main(int(sys.argv[1]) * 1_000_000)
