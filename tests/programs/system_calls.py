"""Makes a short system call every few microseconds between other work, and the same calls one after another.

argv: `getppid` or `process_time`; rounds; the slice to ask the kernel for, in milliseconds, if another than the kernel's own. Prints the CPU
nanoseconds of both: {"mixed": 4700, "alone": 170}.
"""

import ctypes
import json
import os
import struct
import sys
import time

CALLS = 1_000
WORK = range(500)
SCHED_SETATTR, SCHED_GETATTR = 314, 315
# struct sched_attr. The slice is its runtime.
ATTRIBUTES, RUNTIME = struct.Struct("IIQiIQQQII"), 5


def ask_for_slice(milliseconds):
    wanted = own_attributes()
    wanted[RUNTIME] = milliseconds * 1_000_000
    asked(SCHED_SETATTR, 0, ATTRIBUTES.pack(*wanted), 0)
    # Linux before 6.12 grants none, and tells none.
    if own_attributes()[RUNTIME] not in (0, wanted[RUNTIME]):
        raise ValueError(own_attributes())


def own_attributes():
    room = ctypes.create_string_buffer(ATTRIBUTES.size)
    asked(SCHED_GETATTR, 0, room, ATTRIBUTES.size, 0)
    return list(ATTRIBUTES.unpack(room.raw))


def asked(*numbers):
    if ctypes.CDLL(None, use_errno=True).syscall(*numbers) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mixed(call):
    for _ in range(CALLS):
        call()
        sum(WORK)


def alone(call):
    for _ in range(CALLS):
        call()


if __name__ == "__main__":
    if len(sys.argv) > 3:
        ask_for_slice(int(sys.argv[3]))
    call = {"getppid": os.getppid, "process_time": time.process_time}[sys.argv[1]]
    measured_ns = {"mixed": 0, "alone": 0}
    for _ in range(int(sys.argv[2])):
        began_ns = time.thread_time_ns()
        mixed(call)
        between_ns = time.thread_time_ns()
        alone(call)
        measured_ns["mixed"] += between_ns - began_ns
        measured_ns["alone"] += time.thread_time_ns() - between_ns
    print(json.dumps(measured_ns))
