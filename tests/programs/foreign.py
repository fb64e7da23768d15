"""Calls one function of a C library for a while. Usage: foreign.py LIBRARY FUNCTION (whole|real) SECONDS (of CPU)."""

import ctypes
import json
import sys
import time

library, function, kind, seconds = sys.argv[1:]
call = getattr(ctypes.CDLL(library), function)
call.argtypes = [ctypes.c_double if kind == "real" else ctypes.c_uint64]
call.restype = ctypes.c_uint64
end = time.process_time() + float(seconds)
calls = 0
while time.process_time() < end:
    call(100_000)
    calls += 1
print(json.dumps(calls))
