"""Functions compiled, run and destroyed again and again, at reused addresses. Number N lives in file <churn_N>, begins at
line N % 50 + 1, and has outer_N call inner_N on the line after its first one."""

import sys
from time import process_time

TEMPLATE = """{blank}def outer_{n}():
    return inner_{n}(150) + 1

def inner_{n}(count):
    total = 0
    for number in range(count):
        total += number
    return total
"""


def live(number):
    text = TEMPLATE.format(blank="\n" * (number % 50), n=number)
    names = {}
    exec(compile(text, f"<churn_{number}>", "exec"), names)
    for _ in range(20):
        names[f"outer_{number}"]()


def main(cpu_seconds):
    number = 0
    while process_time() < cpu_seconds:
        live(number)
        number += 1
    print(f'{{"functions": {number * 2}}}')


if __name__ == "__main__":
    main(float(sys.argv[1]))
