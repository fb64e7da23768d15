"""Opens connected UDP sockets that share local ports: each attempt lists all sockets, and waits before the next one."""

import random
import sys
import time
from socket import AF_INET, SO_REUSEADDR, SOCK_DGRAM, SOL_SOCKET, socket

from diag import Address, Diag, cookie_of
from workers import PORTS, contend

BACKOFF_SECONDS = 0.02


def open_one(diag: Diag, remote: Address) -> socket:
    while True:
        local = ("127.0.0.1", random.choice(PORTS))
        found = attempt(diag, local, remote)
        if found is not None:
            return found
        time.sleep(BACKOFF_SECONDS)


def attempt(diag: Diag, local: Address, remote: Address) -> socket | None:
    tried = socket(AF_INET, SOCK_DGRAM)
    tried.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    try:
        tried.bind(local)
    except OSError:
        # Somebody holds the lock of this port.
        tried.close()
        return None
    # From here on nobody else can bind to the port: the lock.
    tried.setsockopt(SOL_SOCKET, SO_REUSEADDR, 0)
    if is_taken(diag, local, remote, cookie_of(tried)):
        tried.close()
        return None
    tried.connect(remote)
    tried.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    return tried


def is_taken(diag: Diag, local: Address, remote: Address, own: int) -> bool:
    # Sockets that hold the lock are not connected yet: the lower cookie goes first.
    rivals = [(theirs, cookie) for at, theirs, cookie in diag.sockets() if at == local and cookie != own]
    return any(theirs == remote or (theirs[1] == 0 and cookie < own) for theirs, cookie in rivals)


if __name__ == "__main__":
    random.seed()
    contend(open_one)
    sys.exit()
