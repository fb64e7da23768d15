"""A lock is held while its holder sleeps, and the others wait for it."""

import sys
import threading
import time

lock = threading.Lock()


def update(times):
    for _ in range(times):
        with lock:
            time.sleep(0.005)


if __name__ == "__main__":
    threads = [threading.Thread(target=update, args=(int(sys.argv[1]),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
