"""Two tasks, three awaits deep, that hand over to each other after a few microseconds of work."""
# families: _a _b

import asyncio
import sys
from time import process_time


def work_a(count):
    total = 0
    for number in range(count):
        total += number
    return total


async def inner_a():
    total = work_a(60)  # calls: work_a
    await asyncio.sleep(0)
    return total + work_a(60)  # calls: work_a


async def middle_a():
    return await inner_a()  # calls: inner_a


async def outer_a(cpu_seconds):
    while process_time() < cpu_seconds:
        await middle_a()  # calls: middle_a


def work_b(count):
    total = 0
    for number in range(count):
        total += number
    return total


async def inner_b():
    total = work_b(60)  # calls: work_b
    await asyncio.sleep(0)
    return total + work_b(60)  # calls: work_b


async def middle_b():
    return await inner_b()  # calls: inner_b


async def outer_b(cpu_seconds):
    while process_time() < cpu_seconds:
        await middle_b()  # calls: middle_b


async def both(cpu_seconds):
    await asyncio.gather(outer_a(cpu_seconds), outer_b(cpu_seconds))  # calls: outer_a, outer_b


def main(cpu_seconds):
    asyncio.run(both(cpu_seconds))  # calls: both, outer_a, outer_b


if __name__ == "__main__":
    main(float(sys.argv[1]))  # calls: main
