"""Texts are made for a level of the log that is off."""

import logging
import sys

log = logging.getLogger("app")


def describe(values):
    return ", ".join(f"{key}={value!r}" for key, value in values.items())


def work(values):
    log.debug(f"working on {describe(values)}")
    return len(values)


if __name__ == "__main__":
    values = {f"key {number}": [number] * 5 for number in range(50)}
    for _ in range(int(sys.argv[1])):
        work(values)
