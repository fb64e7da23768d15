"""Who has which UDP socket, asked of the kernel by SOCK_DIAG.

Owns: the messages (Linux include/uapi/linux/inet_diag.h). Never: opens a UDP socket.
"""

import os
import socket
import struct
from collections.abc import Iterator

Address = tuple[str, int]

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLMSG_ERROR, NLMSG_DONE = 2, 3
REQUEST, DUMP = 0x1, 0x300
SO_COOKIE = 57
ANY_COOKIE = 0xFFFF_FFFF_FFFF_FFFF

HEADER = struct.Struct("=IHHII")
# Behind the header of an error and of a list's end; below zero: a number of errno.
ERROR = struct.Struct("=i")
REQUEST_HEAD = struct.Struct("=BBBBI")
# Ports, addresses with room for IPv6, interface; then the cookie.
TUPLE = struct.Struct("!HH16s16sI")
COOKIE = struct.Struct("=Q")
# Family, state and two timers stand before the tuple of an answer.
TUPLE_AT = 4


def cookie_of(of: socket.socket) -> int:
    """The kernel's own number for a socket: no two have the same, and none is used again."""
    return COOKIE.unpack(of.getsockopt(socket.SOL_SOCKET, SO_COOKIE, COOKIE.size))[0]


class Diag:
    """A socket to the kernel, for as many questions as there are."""

    def __init__(self) -> None:
        self.kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG)

    def receiver(self, local: Address, remote: Address) -> int:
        """The cookie of the socket that gets what `remote` sends to `local`; FileNotFoundError if none does. For UDP the kernel looks up a packet:
        its source is the remote side."""
        self._ask(REQUEST, TUPLE.pack(remote[1], local[1], packed(remote), packed(local), 0) + COOKIE.pack(ANY_COOKIE))
        answer = self.kernel.recv(1 << 16)
        if HEADER.unpack_from(answer)[1] == NLMSG_ERROR:
            raise_error(answer, 0)
        return COOKIE.unpack_from(answer, HEADER.size + TUPLE_AT + TUPLE.size)[0]

    def sockets(self) -> Iterator[tuple[Address, Address, int]]:
        """Of all UDP sockets over IPv4: local side, remote side, cookie."""
        self._ask(REQUEST | DUMP, bytes(TUPLE.size + COOKIE.size))
        while True:
            answers = self.kernel.recv(1 << 16)
            at = 0
            while at < len(answers):
                length, kind, *_ = HEADER.unpack_from(answers, at)
                if kind in (NLMSG_DONE, NLMSG_ERROR):
                    # Half a list would look as if nobody had the other sockets.
                    raise_error(answers, at)
                    return
                begin = at + HEADER.size + TUPLE_AT
                local_port, remote_port, local, remote, _ = TUPLE.unpack_from(answers, begin)
                (cookie,) = COOKIE.unpack_from(answers, begin + TUPLE.size)
                yield (unpacked(local), local_port), (unpacked(remote), remote_port), cookie
                at += length

    def _ask(self, flags: int, what: bytes) -> None:
        body = REQUEST_HEAD.pack(socket.AF_INET, socket.IPPROTO_UDP, 0, 0, 0xFFFF_FFFF) + what
        self.kernel.send(HEADER.pack(HEADER.size + len(body), SOCK_DIAG_BY_FAMILY, flags, 1, 0) + body)


def raise_error(answers: bytes, at: int) -> None:
    (number,) = ERROR.unpack_from(answers, at + HEADER.size)
    if number < 0:
        raise OSError(-number, os.strerror(-number))


def packed(address: Address) -> bytes:
    return socket.inet_aton(address[0])


def unpacked(address: bytes) -> str:
    return socket.inet_ntoa(address[:4])


def answers_at_all() -> bool:
    """Whether this kernel can be asked: the module udp_diag is there, and nothing forbids the question."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(("127.0.0.1", 0))
        try:
            return any(cookie == cookie_of(own) for _, _, cookie in Diag().sockets())
        except OSError:
            return False


if __name__ == "__main__":
    raise SystemExit(None if answers_at_all() else "this kernel does not tell its UDP sockets; hint: modprobe udp_diag")
