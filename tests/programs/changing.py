"""Calls of two functions in random order, whose parts of the time are the same all the time, or change: in three phases, or little by little.
argv: `even`, `phases` or `drift`, how many calls, and how many rounds a call has."""

import random
import sys


def planted(rounds):
    total = 0
    for number in range(rounds):
        total += number * 7 % 11
    return total


def other(rounds):
    total = 0
    for number in range(rounds):
        total += number * 5 % 13
    return total


PARTS = {
    "even": lambda progress: 0.6,
    "phases": lambda progress: 0.45 if 0.25 <= progress < 0.75 else 0.75,
    "drift": lambda progress: 0.45 + 0.3 * progress,
}

if __name__ == "__main__":
    part, calls, rounds = PARTS[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])
    for call in range(calls):
        (planted if random.random() < part(call / calls) else other)(rounds)
