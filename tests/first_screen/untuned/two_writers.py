"""Two threads count into one table, and take its lock for every single word."""

import sys
import threading

WORDS = "the quick brown fox jumps over the lazy dog".split()


class Counter:
    def __init__(self):
        self.lock = threading.Lock()
        self.counts = {}

    def add(self, word):
        with self.lock:
            self.counts[word] = self.counts.get(word, 0) + 1


def count(counter, rounds):
    for _ in range(rounds):
        for word in WORDS:
            counter.add(word)


if __name__ == "__main__":
    counter = Counter()
    threads = [threading.Thread(target=count, args=(counter, int(sys.argv[1]))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
