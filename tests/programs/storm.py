"""Stacks that never stop changing, in which a mixture of two moments can be recognised.

Four functions call each other in a ring, alpha → beta → gamma → steps → alpha: directly, through C, as a generator, directly. Each is called from one
line only, which ends with the name of the function as a comment, and passes on the token of its call and one less in `depth`. So the depth tells the function,
and the token tells the thread and the depth at which the call began. argv: how many threads run all the time, and how many sleep at the bottom of
each call. Other threads start and end without a pause.
"""

import sys
import threading
import time

# A token is the number of the thread times this, plus the number of the call.
CALLS_MAX = 1_000_000
RING = ("steps", "gamma", "beta", "alpha")
ROUNDS_MAX = 30
BRIEF_CALLS = 20
BRIEF_AT_ONCE = 3
NAP_S = 0.000_3
# Ten times as often as by itself.
SWITCH_S = 0.000_5


class Thrown(Exception):
    pass


def alpha(token, depth):
    return beta(token, depth - 1) + 1  # beta


def beta(token, depth):
    return list(map(gamma, (token,), (depth - 1,)))[0] + 1  # gamma


def gamma(token, depth):
    for value in steps(token, depth - 1): return value + 1  # steps


def steps(token, depth):
    if depth:
        yield alpha(token, depth - 1)  # alpha
    if token % 3:
        yield works(token, depth - 1)  # works
    yield sleeps(token, depth - 1)  # sleeps


def works(token, depth):
    for number in range(token % 40):
        depth + number
    if token % 7 == 0:
        raise Thrown
    return 0


def sleeps(token, depth):
    time.sleep(NAP_S if threading.current_thread().name.startswith("sleeps") else 0)
    return 0


def calls(number, calls_max):
    count = 0
    while calls_max is None or count < calls_max:
        count = count % (CALLS_MAX - 1) + 1
        token = number * CALLS_MAX + count
        depth = (token % ROUNDS_MAX + 1) * len(RING)
        try:
            begins(token, depth)  # begins
        except Thrown:
            pass


def begins(token, depth):
    alpha(token, depth - 1)  # the first alpha


def starts(number):
    while True:
        brief = []
        for _ in range(BRIEF_AT_ONCE):
            number += 1
            brief.append(threading.Thread(target=calls, args=(number, BRIEF_CALLS), name=f"brief-{number}"))
            brief[-1].start()
        for thread in brief:
            thread.join()


def main():
    sys.setswitchinterval(SWITCH_S)
    running, sleeping = map(int, sys.argv[1:])
    for number in range(running + sleeping):
        name = f"runs-{number}" if number < running else f"sleeps-{number}"
        threading.Thread(target=calls, args=(number, None), name=name, daemon=True).start()
    threading.Thread(target=starts, args=(running + sleeping,), name="starts", daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
