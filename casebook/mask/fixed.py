"""The bridge masks a whole message as one number. argv: messages of 4,096 bytes."""

import sys

import bridge


def mask(payload, key):
    keys = (key * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(keys, "big")).to_bytes(len(payload), "big")


if __name__ == "__main__":
    print(bridge.run(mask, int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
