"""The bridge masks byte by byte, in arrays of numbers: no byte needs a call. argv: messages of 4,096 bytes."""

import sys
from array import array

import bridge


def mask(payload, key):
    payload, key = array("B", payload), array("B", key)
    for position in range(len(payload)):
        payload[position] ^= key[position % 4]
    return payload.tobytes()


if __name__ == "__main__":
    print(bridge.run(mask, int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
