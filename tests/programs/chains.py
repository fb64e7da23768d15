"""Chains of functions, each one called by the one before it, and the last one busy: a single sample of a chain has all of its functions, and
no other chain has any of them. argv: chains, functions of each, CPU milliseconds of each."""

import json
import sys
import time


def chain(name, length, milliseconds):
    """The first function of a chain: each is made from its own text, with its own name."""
    text = [f"def {name}_{number}():\n    return 1 + {name}_{number + 1}()\n" for number in range(length)]
    made = {f"{name}_{length}": lambda: busy(milliseconds)}
    exec("".join(text), made)
    return made[f"{name}_0"]


def busy(milliseconds):
    end_ns = time.thread_time_ns() + milliseconds * 1_000_000
    while time.thread_time_ns() < end_ns:
        pass
    return 0


def main(chains, length, milliseconds):
    answer = sum(chain(f"link_{number}", length, milliseconds)() for number in range(chains))
    print(json.dumps({"answer": answer, "cpu_ns": time.process_time_ns()}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
