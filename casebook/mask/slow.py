"""The bridge masks each byte by a call of its own. argv: messages of 4,096 bytes."""

import sys

import bridge


def mask_byte(byte, key, position):
    return chr(ord(byte) ^ ord(key[position % 4]))


def mask(payload, key):
    payload, key = payload.decode("latin-1"), key.decode("latin-1")
    masked = [mask_byte(byte, key, position) for position, byte in enumerate(payload)]
    return "".join(masked).encode("latin-1")


if __name__ == "__main__":
    print(bridge.run(mask, int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
