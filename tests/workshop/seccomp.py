"""What a test's program begins with to install filters for system calls: `install(numbers, error, flags)` and `listen(numbers)` of seccomp(2)."""

FILTER = """
import ctypes, errno, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)

def seccomp(numbers, action, flags):
    code = [(0x20, 0, 0, 0)]
    for at, number in enumerate(numbers):
        code.append((0x15, len(numbers) - at, 0, number))
    code += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, action)]
    program = b"".join(struct.pack("HBBI", *one) for one in code)
    buffer = ctypes.create_string_buffer(program, len(program))
    record = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer)))
    result = libc.prctl(38, 1, 0, 0, 0) or libc.syscall(317, 1, flags, record)
    if result < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return result

def install(numbers, error, flags=0):
    seccomp(numbers, 0x00050000 | error, flags)

# A descriptor that tells of the calls that this thread, and those that it begins, make from here on: each waits for an answer.
def listen(numbers):
    return seccomp(numbers, 0x7FC00000, 8)
"""
# The same, for filters that raise SIGSYS in place of the answer.
TRAPS = FILTER.replace("0x00050000 | error", "0x00030000")
