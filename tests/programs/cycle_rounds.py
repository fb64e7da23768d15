"""Garbage by chance, round after round: at a number on stdin that is the seed of a round it leaves cycles and says of how many objects they are at least;
at the next line it collects and says what that returned; at an empty line it ends."""

import gc
import json
import random
import sys
import weakref


class Node:
    pass


class Slotted:
    __slots__ = ("other", "payload")


class Ends:
    def __del__(self):
        Ends.ended = True


def circle(length):
    """Of dicts, lists and instances by turns."""
    made = [random.choice([dict, list, Node, Slotted, Ends])() for _ in range(length)]
    for one, other in zip(made, made[1:] + made[:1]):
        refer(one, other)
    return made


def refer(one, other):
    if isinstance(one, dict):
        one[f"key {random.randrange(5)}"] = other
    elif isinstance(one, list):
        one.append((other, str(other.__class__)))
    elif isinstance(one, Slotted):
        one.other, one.payload = other, bytes(100)
    else:
        one.other = other


def closure():
    def calls(number):
        return number and calls(number - 1)
    return [calls]


def watched():
    one = Node()
    one.itself = one
    one.seen = weakref.ref(one)
    return [one]


def hanging():
    one = Node()
    one.itself, one.table = one, [[number] for number in range(random.randrange(50))]
    return [one]


def round_of(seed):
    random.seed(seed)
    made = []
    for _ in range(random.randrange(1, 40)):
        made += random.choice([lambda: circle(random.randrange(1, 30)), closure, watched, hanging])()
    # Some cycles lead to others.
    for _ in range(random.randrange(5)):
        one, other = random.choice(made), random.choice(made)
        if isinstance(one, (dict, list)):
            refer(one, other)
    return len(made)


def main():
    gc.collect()
    gc.disable()
    rounds = 0
    print("ready {}", flush=True)
    while line := sys.stdin.readline().strip():
        objects = round_of(int(line))
        print(json.dumps({"objects": objects}), flush=True)
        sys.stdin.readline()
        print(json.dumps({"collected": gc.collect()}), flush=True)
        rounds += 1
    print(json.dumps({"rounds": rounds}), flush=True)


main()
