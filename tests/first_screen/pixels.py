"""An array is changed one element after the other."""

import sys

import numpy


def brighten(image):
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            image[y, x] = min(255, image[y, x] + 10)


if __name__ == "__main__":
    image = numpy.zeros((300, 300), dtype=numpy.int64)
    for _ in range(int(sys.argv[1])):
        brighten(image)
