"""Matrices are multiplied by numpy's library, which has threads of its own."""

import sys

import numpy


def step(left, right):
    return left @ right


if __name__ == "__main__":
    left = numpy.ones((1400, 1400))
    right = numpy.ones((1400, 1400))
    for _ in range(int(sys.argv[1])):
        step(left, right)
