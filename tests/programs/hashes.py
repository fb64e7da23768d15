"""Three threads in functions of hashes that keep data below the stack pointer where BOLT laid them out, and threads that come and go there, until a
line comes on stdin. Prints what each of the three came to: the same whether somebody looked or not."""

import _sha2
import hashlib
import json
import sys
import threading

DATA = bytes(range(256)) * 400
ROUNDS = 4_000
over = threading.Event()


def hashes(digests: list[str]) -> None:
    digest = hashlib.sha256()
    for _ in range(ROUNDS):
        digest.update(hashlib.blake2b(DATA).digest())
        digest.update(_sha2.sha512(DATA).digest())
    digests.append(digest.hexdigest())
    while not over.is_set():
        hashlib.blake2b(DATA)


def begins_and_ends() -> None:
    while not over.is_set():
        short = threading.Thread(target=lambda: [hashlib.blake2b(DATA) for _ in range(200)])
        short.start()
        short.join()


def main() -> None:
    digests: list[str] = []
    threads = [threading.Thread(target=hashes, args=(digests,)) for _ in range(3)] + [threading.Thread(target=begins_and_ends)]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    sys.stdin.readline()
    over.set()
    for thread in threads:
        thread.join()
    print(json.dumps(sorted(digests)))


main()
