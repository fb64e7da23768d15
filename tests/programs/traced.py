"""Each kind of call that a profiler may count otherwise: recursion, generators, exceptions, functions and methods written in C, threads.

Owns: calls whose number does not depend on the machine.
"""

import sys


def fibonacci(number):
    return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)


def even(number):
    return number == 0 or odd(number - 1)


def odd(number):
    return number != 0 and even(number - 1)


def count_down(number):
    while number:
        try:
            yield number
        except KeyError:
            pass
        number -= 1


def delegate(number):
    yield from count_down(number)
    return number


class Thing(dict):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def __len__(self):
        return self.size

    @classmethod
    def make(cls, size):
        return cls(size)

    @staticmethod
    def twice(number):
        return number * 2

    @property
    def half(self):
        return self.size // 2


def raising(depth):
    if depth:
        return raising(depth - 1)
    raise ValueError(depth)


def catching():
    for thrown in (ValueError, KeyError):
        try:
            raising(3) if thrown is ValueError else {}.pop("nothing")
        except thrown:
            continue
    try:
        int("no number")
    except ValueError:
        pass


def generators():
    first = count_down(5)
    next(first)
    next(first)
    first.close()
    for number in delegate(3):
        str(number)
    thrown = count_down(4)
    next(thrown)
    thrown.throw(KeyError)
    list(count_down(3))
    return sum(number for number in range(10))


async def waits(number):
    if number:
        await waits(number - 1)
    return number


def coroutines():
    coroutine = waits(3)
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value


def in_c():
    names = ["b", "a", "c"]
    names.sort(key=str.upper)
    names.append("d")
    list.append(names, "e")
    "-".join(map(str, range(3)))
    sorted(names, key=lambda name: name)
    thing = Thing.make(4)
    len(thing), thing.half, Thing.twice(3), thing.get("x"), dict.fromkeys("ab")
    isinstance(thing, dict)
    max(3, 4)
    exec("value = abs(-1)", {})


def in_thread(number):
    return fibonacci(number)


def main():
    fibonacci(10)
    even(7)
    catching()
    generators()
    coroutines()
    in_c()
    if "threads" in sys.argv:
        # Its import would be counted, and leads through other folders under cProfile.
        import threading

        threads = [threading.Thread(target=in_thread, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


main()
