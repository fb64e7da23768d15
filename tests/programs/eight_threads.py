"""Eight threads, the k-th with k parts of work; prints what each one's own clock says. argv: parts' size."""

import json
import sys
import threading
from time import thread_time_ns

clocks_ns = {}


def work(parts, size):
    for _ in range(parts):
        total = 0
        for number in range(size):
            total += number
    clocks_ns[threading.get_native_id()] = thread_time_ns()


if __name__ == "__main__":
    threads = [threading.Thread(target=work, args=(k, int(sys.argv[1]))) for k in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(clocks_ns))
