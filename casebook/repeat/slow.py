"""Repeats a sequence to 1 GiB and drops it, a few times. argv: `bytes` or `list`, then how often."""

import sys

KIND = sys.argv[1] if len(sys.argv) > 1 else "list"
TIMES = int(sys.argv[2]) if len(sys.argv) > 2 else 4


def repeat_bytes():
    b"ABCDEFGH" * (128 * 1024 * 1024)


def repeat_list():
    [0, 1] * (64 * 1024 * 1024)


if __name__ == "__main__":
    for _ in range(TIMES):
        if KIND == "bytes":
            repeat_bytes()
        else:
            repeat_list()
