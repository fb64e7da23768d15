"""The same without lock and look-up: each socket shares its port with whoever has it."""

import random
from socket import AF_INET, SO_REUSEADDR, SOCK_DGRAM, SOL_SOCKET, socket

from diag import Address, Diag
from workers import PORTS, contend


def open_one(_: Diag, remote: Address) -> socket:
    opened = socket(AF_INET, SOCK_DGRAM)
    opened.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    opened.bind(("127.0.0.1", random.choice(PORTS)))
    opened.connect(remote)
    return opened


if __name__ == "__main__":
    contend(open_one)
