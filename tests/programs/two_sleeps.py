"""Among idle threads some wake for a moment: each sleeps a little in `short`, then long in `long`, while nobody else runs."""

import sys
import threading
import time

IDLE, WORKERS = 30, 8


def short():
    time.sleep(0.02)


def long():
    time.sleep(0.6)


def work(rounds, gate):
    for _ in range(rounds):
        gate.wait()
        short()
        long()


if __name__ == "__main__":
    rounds = int(sys.argv[1])
    end = threading.Event()
    idle = [threading.Thread(target=end.wait) for _ in range(IDLE)]
    gate = threading.Barrier(WORKERS)
    workers = [threading.Thread(target=work, args=(rounds, gate)) for _ in range(WORKERS)]
    for thread in idle + workers:
        thread.start()
    for thread in workers:
        thread.join()
    end.set()
    print(WORKERS * rounds)
