"""A reader collects what arrives in one `bytes`, which is copied with each piece."""

import sys


def pieces(count):
    for number in range(count):
        yield number.to_bytes(4, "big") * 32


def received(source):
    buffer = b""
    for piece in source:
        buffer += piece
    return buffer


if __name__ == "__main__":
    print(len(received(pieces(int(sys.argv[1])))))
