"""Several kinds of work, mixed finely and for ever in the same way: Python calls, small C calls, copies, sorting with key
functions, regular expressions and JSON. Prints `ready PID` when it is warm; ends with SIGTERM, exit code 0."""

import functools
import json
import os
import re
import signal
import sys

WORDS = [f"word{number * 7919 % 1000}" for number in range(120)]
TREE = {"numbers": list(range(40)), "words": WORDS[:20], "deep": {"a": {"b": [None, True, 1.5]}}}
BLOCK = bytes(200_000)
PAIRS = re.compile(r"(\w)(\d+)")


def fall(left):
    return fall(left - 1) + 1 if left else 0


def calls():
    return sum(fall(6) for _ in range(12))


def small_c_calls():
    total = 0
    for number in range(150):
        total += len(WORDS) + abs(-number) + ord("x")
    return total


def copies():
    return len(BLOCK[1:]) + len(bytearray(BLOCK))


def by_number(word):
    return int(word[4:])


def sorting():
    return sorted(WORDS, key=by_number)


def compare(left, right):
    return (left > right) - (left < right)


def comparing():
    return sorted(WORDS[:40], key=functools.cmp_to_key(compare))


def to_and_from_json():
    return json.loads(json.dumps(TREE))


def searching():
    return PAIRS.sub(lambda found: found[2] + found[1], " ".join(WORDS[:30]))


def collatz(number):
    steps = 0
    while number != 1:
        number = number // 2 if number % 2 == 0 else 3 * number + 1
        steps += 1
    return steps


def loops():
    return collatz(97) + collatz(27)


def forever():
    while not asked_to_end:
        calls()
        small_c_calls()
        copies()
        sorting()
        comparing()
        to_and_from_json()
        searching()
        loops()


def end(_signal, _frame):
    asked_to_end.append(True)


asked_to_end = []
signal.signal(signal.SIGTERM, end)
for _ in range(200):
    calls(), small_c_calls(), copies(), sorting(), comparing(), to_and_from_json(), searching(), loops()
print("ready", os.getpid(), flush=True)
forever()
sys.exit(0)
