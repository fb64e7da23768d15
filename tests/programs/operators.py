"""Python functions that the interpreter calls by itself: __getattr__, operators, comparisons, hashes, properties."""
# families: _a _b

import sys
from time import process_time


def work_a(count):
    total = 0
    for number in range(count):
        total += number
    return total


class Point_a:
    def __init__(self, x):
        self.x = x

    def __getattr__(self, name):
        return work_a(len(name))  # calls: work_a

    def __add__(self, other):
        return Point_a(self.x + other.length)  # calls: Point_a.__init__, Point_a.__getattr__

    def __lt__(self, other):
        return self.x + work_a(5) < other.x  # calls: work_a

    def __eq__(self, other):
        return work_a(5) == other.x  # calls: work_a

    def __hash__(self):
        return work_a(9)  # calls: work_a

    def __getitem__(self, index):
        return work_a(index)  # calls: work_a

    def __contains__(self, value):
        return self.width == value  # calls: Point_a.__getattr__

    def __call__(self, count):
        return self[count]  # calls: Point_a.__getitem__

    @property
    def area(self):
        return self.height * 2  # calls: Point_a.__getattr__


def use_a():
    point, other = Point_a(1), Point_a(2)  # calls: Point_a.__init__
    point = point + other  # calls: Point_a.__add__
    smaller = min(point, other)  # calls: Point_a.__lt__
    known = {point: 1, other: 2}  # calls: Point_a.__hash__, Point_a.__eq__
    found = 3 in smaller  # calls: Point_a.__contains__
    return smaller(20) + smaller.area + len(known) + found  # calls: Point_a.__call__, Point_a.area


def work_b(count):
    total = 0
    for number in range(count):
        total += number
    return total


class Point_b:
    def __init__(self, x):
        self.x = x

    def __getattr__(self, name):
        return work_b(len(name))  # calls: work_b

    def __add__(self, other):
        return Point_b(self.x + other.length)  # calls: Point_b.__init__, Point_b.__getattr__

    def __lt__(self, other):
        return self.x + work_b(5) < other.x  # calls: work_b

    def __eq__(self, other):
        return work_b(5) == other.x  # calls: work_b

    def __hash__(self):
        return work_b(9)  # calls: work_b

    def __getitem__(self, index):
        return work_b(index)  # calls: work_b

    def __contains__(self, value):
        return self.width == value  # calls: Point_b.__getattr__

    def __call__(self, count):
        return self[count]  # calls: Point_b.__getitem__

    @property
    def area(self):
        return self.height * 2  # calls: Point_b.__getattr__


def use_b():
    point, other = Point_b(1), Point_b(2)  # calls: Point_b.__init__
    point = point + other  # calls: Point_b.__add__
    smaller = min(point, other)  # calls: Point_b.__lt__
    known = {point: 1, other: 2}  # calls: Point_b.__hash__, Point_b.__eq__
    found = 3 in smaller  # calls: Point_b.__contains__
    return smaller(20) + smaller.area + len(known) + found  # calls: Point_b.__call__, Point_b.area


def main(cpu_seconds):
    while process_time() < cpu_seconds:
        for _ in range(100):
            use_a()  # calls: use_a
            use_b()  # calls: use_b


if __name__ == "__main__":
    main(float(sys.argv[1]))  # calls: main
