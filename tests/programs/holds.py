"""Some threads stay in a function of held.c again and again, the first one computes until a line comes on stdin. With the function `load` a thread
loads a library that takes its time. argv: the library, the function, milliseconds, how many threads, `computes` or `waits`.

Prints what the functions returned, other than 0, and a digest: the same whether somebody looked or not."""

import ctypes
import hashlib
import json
import os
import select
import signal
import sys
import threading

over = threading.Event()
answers: list[int] = []


def hold(library: str, name: str, ms: int) -> None:
    while not over.is_set():
        if name == "load":
            loaded = ctypes.CDLL(library)
            ctypes.CDLL(None).dlclose(ctypes.c_void_p(loaded._handle))
            answer = 0
        else:
            answer = getattr(ctypes.CDLL(library), name)(ctypes.c_long(ms))
        answers.append(answer)


def digest_of(rounds: int) -> str:
    digest = b"held"
    for _ in range(rounds):
        digest = hashlib.sha256(digest).digest()
    return digest.hex()


def main(library: str, name: str, ms: str, threads: str, how: str) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
    holders = [threading.Thread(target=hold, args=(library, name, int(ms))) for _ in range(int(threads))]
    for holder in holders:
        holder.start()
    # The timer's signals are for the threads that hold something.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    print("ready", os.getpid(), flush=True)
    if how == "waits":
        # No place for genba: a call that may be libc's own.
        signal.sigwait([signal.SIGRTMIN])
    digest = digest_of(1000)
    while not select.select([sys.stdin], [], [], 0)[0]:
        digest = digest_of(1000)
    over.set()
    for holder in holders:
        holder.join()
    print(json.dumps({"wrong": [answer for answer in answers if answer], "digest": digest}))


if __name__ == "__main__":
    main(*sys.argv[1:])
