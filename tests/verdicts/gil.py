"""Eight threads compute at once, in Python."""

import sys
import threading


def distance(left, right):
    return sum((x - y) ** 2 for x, y in zip(left, right, strict=True))


def score(rounds):
    points = [[float(i * j % 17) for i in range(40)] for j in range(40)]
    for _ in range(rounds):
        for left in points:
            distance(left, points[0])


if __name__ == "__main__":
    threads = [threading.Thread(target=score, args=(int(sys.argv[1]),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
