"""Sums squares in an extension module written in Cython. argv: how often, the module's file."""

import importlib.util
import sys


def load(path):
    spec = importlib.util.spec_from_file_location("cythonized", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def none(count):
    return 0


def squares(module, count):
    return module.call(none, count)


if __name__ == "__main__":
    cythonized = load(sys.argv[2])
    for _ in range(int(sys.argv[1])):
        squares(cythonized, 3_000_000)
