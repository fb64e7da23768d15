"""The same sockets: one question to the kernel for each attempt, and the next port at once."""

import random
from socket import AF_INET, SO_REUSEADDR, SOCK_DGRAM, SOL_SOCKET, socket

from diag import Address, Diag, cookie_of
from workers import PORTS, contend


def open_one(diag: Diag, remote: Address) -> socket:
    while True:
        for port in random.sample(PORTS, len(PORTS)):
            found = attempt(diag, ("127.0.0.1", port), remote)
            if found is not None:
                return found


def attempt(diag: Diag, local: Address, remote: Address) -> socket | None:
    tried = socket(AF_INET, SOCK_DGRAM)
    tried.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    try:
        tried.bind(local)
    except OSError:
        tried.close()
        return None
    tried.setsockopt(SOL_SOCKET, SO_REUSEADDR, 0)
    # Who would get the answers? A connected socket comes before one that only holds the lock.
    if diag.receiver(local, remote) != cookie_of(tried):
        tried.close()
        return None
    tried.connect(remote)
    tried.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    return tried


if __name__ == "__main__":
    contend(open_one)
