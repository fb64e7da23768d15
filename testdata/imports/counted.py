"""What the .prof files here were made of: recursion, a generator, exceptions, methods in C. Runs on Python 2.7 and later.

    python counted.py OUT [cProfile | profile]
"""
import sys


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def numbers(count):
    for number in range(count):
        yield number


def refused(number):
    raise ValueError(number)


def tried(number):
    try:
        refused(number)
    except ValueError:
        return len(str(number))


class Kept(object):
    def add(self, number):
        return self.kept.append(number)

    def __init__(self):
        self.kept = []


def main():
    kept = Kept()
    for number in numbers(5):
        kept.add(fibonacci(number + 14))
        tried(number)
    return sorted(kept.kept, key=lambda number: -number)


if __name__ == "__main__":
    if sys.argv[2] == "profile":
        from profile import Profile
    else:
        from cProfile import Profile
    profile = Profile()
    profile.runcall(main)
    profile.dump_stats(sys.argv[1])
