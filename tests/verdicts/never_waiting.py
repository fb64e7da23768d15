"""Work, some of it in system calls that elsewhere wait. argv: which of the functions, and how much of it."""

import hashlib
import os
import socket
import sys
import tempfile
import threading

BLOCK = bytes(1 << 20)


def hashes(count):
    for _ in range(count):
        hashlib.sha256(BLOCK).digest()


def reads(count):
    """Of a file that is in memory: the kernel works, on this thread."""
    with tempfile.TemporaryFile(dir=".", buffering=0) as file:
        file.write(BLOCK)
        for _ in range(count):
            file.seek(0)
            file.read(len(BLOCK))


def messages(count):
    """To itself: what it asks for is always there."""
    left, right = socket.socketpair()
    for _ in range(count):
        left.sendall(BLOCK[:10_000])
        right.recv(10_000)


def hashed_files(count):
    with tempfile.TemporaryFile(dir=".", buffering=0) as file:
        file.write(BLOCK)
        for _ in range(count):
            hashlib.sha256(os.pread(file.fileno(), len(BLOCK), 0)).digest()


def counts(count):
    for _ in range(count):
        pass


def by_two(function, count):
    threads = [threading.Thread(target=function, args=(count,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def files_by_two_threads(count):
    by_two(hashed_files, count)


def convoy(count):
    """One thread has the GIL, and the other waits for it."""
    by_two(counts, count)


def compiles(count):
    """Packages of the standard library, each compiled into a file."""
    import compileall
    import shutil

    library = os.path.dirname(os.__file__)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for package in ("json", "email", "asyncio", "logging")[:count]:
            shutil.copytree(f"{library}/{package}", f"{folder}/{package}", ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(folder, quiet=1)


if __name__ == "__main__":
    globals()[sys.argv[1]](int(sys.argv[2]))
