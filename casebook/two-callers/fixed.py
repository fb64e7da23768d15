"""The same sums by formula: nothing is added up one by one."""

import sys


def sum1(n):
    return n * (n - 1) // 2


def sum2(m):
    return m * (m - 1) // 2


def sum12(n, m):
    return sum1(n) + sum2(m)


if __name__ == "__main__":
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
        sum12(10_000, 100_000)
        sum12(30_000, 10_000)
