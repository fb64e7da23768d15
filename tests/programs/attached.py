"""Two threads that hash, two that sleep in `select`, and a first thread that squares numbers, until a line comes on stdin. Prints what each came to:
the same whether somebody looked or not."""

import hashlib
import json
import os
import select
import sys
import threading
import time

NAP_S = 0.2
over = threading.Event()
naps_ms: list[int] = []


def hashes(seed: int, into: dict[int, str]) -> None:
    digest = hashlib.sha256(bytes([seed])).digest()
    for _ in range(100_000):
        digest = hashlib.sha256(digest).digest()
    into[seed] = digest.hex()
    while not over.is_set():
        hashlib.sha256(bytes(1000)).digest()


def naps() -> None:
    while not over.is_set():
        before = time.monotonic()
        select.select([], [], [], NAP_S)
        naps_ms.append(round((time.monotonic() - before) * 1000))


def squares(count: int) -> int:
    return sum(number * number for number in range(count))


def main() -> None:
    digests: dict[int, str] = {}
    threads = [threading.Thread(target=hashes, args=(seed, digests)) for seed in (1, 2)] + [threading.Thread(target=naps) for _ in range(2)]
    for thread in threads:
        thread.start()
    print("ready", os.getpid(), flush=True)
    total = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        total = squares(20_000)
    over.set()
    for thread in threads:
        thread.join()
    print(json.dumps({"digests": [digests[1], digests[2]], "total": total, "shortest_nap_ms": min(naps_ms)}))


if __name__ == "__main__":
    main()
