"""Copies by a library that it loads at a line `loads`, when a line `moves` comes: `loads_slowly.py LIBRARY`. Answers with how many bytes `moves` copies."""

import ctypes
import sys

BYTES, TIMES = 1_000_000, 1_000
FROM = bytes(range(250)) * (BYTES // 250)
room = ctypes.create_string_buffer(BYTES)
library = None
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "loads":
        library = ctypes.CDLL(sys.argv[1])
    else:
        assert all(library.moves(room, FROM, ctypes.c_ulong(BYTES)) for _ in range(TIMES))
    print(2 * BYTES * TIMES, flush=True)
