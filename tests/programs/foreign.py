"""Calls one function of a C library for a while. Usage: foreign.py LIBRARY FUNCTION (whole|real) SECONDS (of CPU)."""

import ctypes
import json
import sys
import time

library, function, kind, seconds = sys.argv[1:]
call = getattr(ctypes.CDLL(library), function)
call.argtypes = [ctypes.c_double if kind == "real" else ctypes.c_uint64]
call.restype = ctypes.c_uint64
calls = 0


def run(seconds):
    global calls
    end = time.process_time() + seconds
    while time.process_time() < end:
        call(100_000)
        calls += 1


# genba reads how to unwind the library when it first meets it, beside the program, and on a busy machine that takes a while.
run(0.03)
time.sleep(0.2)
run(float(seconds))
print(json.dumps(calls))
