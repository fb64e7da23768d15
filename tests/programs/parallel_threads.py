"""Four threads, the k-th with k parts of work, that let go of the GIL (SHA-256 of large blocks); prints each one's own clock. argv: blocks of a part."""

import hashlib
import json
import sys
import threading
from time import thread_time_ns

BLOCK = bytes(4 << 20)
clocks_ns = {}


def work(blocks):
    digest = hashlib.sha256()
    for _ in range(blocks):
        digest.update(BLOCK)
    clocks_ns[threading.get_native_id()] = thread_time_ns()


if __name__ == "__main__":
    threads = [threading.Thread(target=work, args=(int(sys.argv[1]) * k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(clocks_ns))
