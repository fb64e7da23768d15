"""64 processes that open UDP sockets to two servers at the same time, from fewer ports than sockets, and what the kernel says of them then.

Owns: the processes and the count. Never: chooses a port.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from socket import socket

from diag import Address, Diag

WORKERS, SOCKETS_EACH = 64, 8
# Taken in turn. A port can have a socket to each of them.
REMOTES = (("127.0.0.1", 9), ("127.0.0.1", 10))
PORTS = range(23_000, 23_300)


def contend(open_one: Callable[[Diag, Address], socket]) -> None:
    """Prints how many 4-tuples are taken twice; exits with 1 if any is."""
    ready, done = os.pipe(), os.pipe()
    begin = time.monotonic()
    for _ in range(WORKERS):
        if os.fork() == 0:
            os.close(done[1])
            diag = Diag()
            opened = [open_one(diag, REMOTES[at % len(REMOTES)]) for at in range(SOCKETS_EACH)]
            os.write(ready[1], b".")
            os.read(done[0], 1)
            # A worker of a server: it ends with its sockets.
            os._exit(len(opened) != SOCKETS_EACH)
    os.close(done[0])
    finished = 0
    while finished < WORKERS:
        finished += len(os.read(ready[0], WORKERS))
    seconds = time.monotonic() - begin
    tuples = Counter((local, remote) for local, remote, _ in Diag().sockets() if remote in REMOTES and local[1] in PORTS)
    os.close(done[1])
    failed = sum(os.waitstatus_to_exitcode(os.wait()[1]) != 0 for _ in range(WORKERS))
    ports = {local for local, _ in tuples}
    twice = sum(count > 1 for count in tuples.values())
    print(f"{tuples.total()} sockets on {len(ports)} ports, {twice} 4-tuples taken twice, after {seconds:.2f} s", flush=True)
    sys.exit(twice > 0 or failed > 0)
