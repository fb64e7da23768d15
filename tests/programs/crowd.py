"""Threads that run in C side by side, some of which let no signal through, genba's neither: a raw system call says so. argv: the library of spin.c, threads that do and
threads that do not, CPU milliseconds of each."""

import ctypes
import json
import sys
import threading
import time

SYS_RT_SIGPROCMASK, SIG_BLOCK = 14, 0


def spin(library, masked, milliseconds, done):
    if masked:
        ctypes.CDLL(None).syscall(SYS_RT_SIGPROCMASK, SIG_BLOCK, ctypes.byref(ctypes.c_uint64(2**31 - 1)), None, 8)
    done.append(library.errno_changes(ctypes.c_longlong(milliseconds * 1_000_000)))


def main(path, masked, open_to_signals, milliseconds):
    library, done, crowd = ctypes.CDLL(path), [], []
    for number in range(masked + open_to_signals):
        crowd.append(threading.Thread(target=spin, args=(library, number < masked, milliseconds, done)))
        crowd[-1].start()
    for thread in crowd:
        thread.join()
    print(json.dumps({"answer": done, "cpu_ns": time.process_time_ns()}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
