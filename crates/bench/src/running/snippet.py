# Times one statement in this process: genba bench starts a new one for each run.
# Arguments: the file for the answer, turns of the loop (0: find out how many), values, seconds that a value takes at least, setup, statement.
import itertools
import sys
import time
import timeit


def main():
    answer, turns, values, least, setup, statement = sys.argv[1:]
    turns, values, least = int(turns), int(values), float(least)
    # timeit's own loop, with the collector on as in any program.
    timer = timeit.Timer(statement, setup, globals={"__name__": "__main__", "__builtins__": __builtins__})

    def value(turns):
        return timer.inner(itertools.repeat(None, turns), time.perf_counter)

    try:
        if turns == 0:
            turns = 1
            while value(turns) < least:
                turns *= 2
        else:
            value(turns)
        times = [value(turns) for _ in range(values)]
    except BaseException:
        timer.print_exc()
        sys.exit(1)
    with open(answer, "w") as file:
        file.write(" ".join([str(turns)] + [repr(time / turns) for time in times]))


main()
