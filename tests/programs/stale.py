"""Runs in C while a pointer on the way to its own frames leads astray: the thread state's, a frame's to its caller, a frame's to
its code. argv: the library of stale.c, CPU milliseconds for each pair of a pointer and a wrong address."""

import ctypes
import json
import mmap
import sys
import time
import traceback

# Where the thread state names the C local of the eval loop that names the frame (3.11, 3.12), or the frame itself; then previous
# and code of a frame.
CHAIN, PREVIOUS, CODE = {
    11: ((56, 8), 48, 32),
    12: ((56, 0), 8, 0),
    13: ((72,), 8, 0),
    14: ((72,), 8, 0),
    15: ((72,), 8, 0),
}[sys.version_info.minor]
PAGE = mmap.PAGESIZE


def pages():
    """Addresses of a page that may not be read, one that is gone, one of zeros, one of addresses of itself."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    unreadable, gone = (libc.mmap(None, PAGE, 0, private, -1, 0) for _ in range(2))
    zeros, circle = (libc.mmap(None, PAGE, mmap.PROT_READ | mmap.PROT_WRITE, private, -1, 0) for _ in range(2))
    libc.munmap(gone, PAGE)
    for offset in range(0, PAGE, 8):
        ctypes.c_uint64.from_address(circle + offset).value = circle
    return unreadable, gone, zeros, circle


def main(path, milliseconds):
    # The library keeps the GIL: nobody else looks at these words meanwhile.
    library = ctypes.PyDLL(path)
    for function in (library.stale_state, library.stale_previous, library.stale_code):
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_longlong]
    ctypes.pythonapi.PyThreadState_Get.restype = ctypes.c_void_p
    # In kernel memory, below all memory, no address at all, and the pages.
    astray = [0xFFFF_8000_0000_0000, 16, 0x1234_5678_9ABC_DEF1, *pages()]
    # Read in this function: the frame must be its own, which calls the library.
    slots, address = [], ctypes.pythonapi.PyThreadState_Get()
    for offset in CHAIN:
        slots.append((library.stale_state, address + offset))
        address = ctypes.c_uint64.from_address(address + offset).value
    slots += [(library.stale_previous, address + PREVIOUS), (library.stale_code, address + CODE)]
    turns = 0
    for function, slot in slots:
        for value in astray:
            turns += function(slot, value, milliseconds * 1_000_000)
    stack = [frame.name for frame in traceback.extract_stack()]
    print(json.dumps({"answer": [turns, stack], "cpu_ns": time.process_time_ns()}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
