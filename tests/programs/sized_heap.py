"""Makes objects that own memory beside their block, says what each class's objects take, and waits for a line.

What `sys.getsizeof` knows is taken from there; the rest is asked of malloc: how long the blocks are to which the objects lead (`malloc_usable_size`).
`exact`: bytes of a class. `about`: the same, but for what malloc gives beyond what it is asked for. argv: "large" makes few objects of many megabytes.
"""

import array
import collections
import ctypes
import decimal
import io
import json
import mmap
import queue
import struct
import sys
import tempfile
import xml.etree.ElementTree

MINOR = sys.version_info[1]
USABLE = ctypes.CDLL(None).malloc_usable_size
USABLE.restype, USABLE.argtypes = ctypes.c_size_t, [ctypes.c_void_p]
BLOCK_OF_DEQUE = (64 + 2) * 8


def field(o, offset, size=8):
    return int.from_bytes(ctypes.string_at(id(o) + offset, size), "little")


def made(name, *bases):
    return type(name, bases, {"__slots__": ()})


Dict, List, Set, Frozen = made("Dict", dict), made("List", list), made("Set", set), made("Frozen", frozenset)
Text, Bytes, ByteArray, Tuple = made("Text", str), made("Bytes", bytes), made("ByteArray", bytearray), made("Tuple", tuple)
Float, Complex, Default = made("Float", float), made("Complex", complex), made("Default", collections.defaultdict)
Packed, Ordered, Deque, Popped = made("Packed", array.array), made("Ordered", collections.OrderedDict), made("Deque", collections.deque), made("Popped", collections.deque)
Alone, Shared = made("Alone", io.BytesIO), made("Shared", io.BytesIO)
Whole, Gathered, Reader = made("Whole", io.StringIO), made("Gathered", io.StringIO), made("Reader", io.BufferedReader)
Mapped, OfFile, Queue = made("Mapped", mmap.mmap), made("OfFile", mmap.mmap), made("Queue", queue.SimpleQueue)
Element, Decimal = made("Element", xml.etree.ElementTree.Element), made("Decimal", decimal.Decimal)
LENGTHS = (0, 1, 2, 3, 5, 6, 10, 11, 50, 200)


class Tells:
    """A `__sizeof__` that is no C function."""

    def __sizeof__(self):
        return 10**9


class Block(ctypes.Array):
    __slots__ = ()
    _type_, _length_ = ctypes.c_char, 50_000


class Inside(ctypes.Array):
    __slots__ = ()
    _type_, _length_ = ctypes.c_char, 8


def of_length(n):
    texts = [Text("x" * n), Text("\xe9" * n), Text("\u1234" * n), Text("\U00012345" * n)]
    dicts = [Dict.fromkeys(range(n)), Dict({str(i): i for i in range(n)}), Default(int, {i: i for i in range(n)})]
    sets, lists = [Set(range(n)), Frozen(range(n))], [List(range(n)), List([0] * n), Tuple(range(n))]
    return texts + dicts + sets + lists + [Bytes(n), ByteArray(n), Float(n), Complex(n)]


def packed(n):
    grown = Packed("h", range(n))
    for number in range(n):
        grown.append(number)
    return [Packed("d", range(n)), Packed("b", bytes(n % 128)), grown]


def ordered(n):
    shrunk = Ordered.fromkeys(range(2 * n))
    for key in range(n):
        del shrunk[key]
    return [Ordered.fromkeys(range(n)), shrunk]


def deques(n):
    turned = Deque(range(n))
    turned.rotate(n // 2)
    emptied = Popped(range(20 * n))
    for _ in range(20 * n):
        emptied.pop()
    return [Deque(range(n)), turned, emptied]


def elements(n):
    parent = Element("parent", dict.fromkeys("abc", "1") if n % 2 else {})
    parent.extend([Element("child") for _ in range(n)])
    return [parent, *parent]


CONTENT = bytes(30_000)


def buffers(n):
    written = Alone()
    written.write(b"x" * (n * 300))
    written.write(b"y")
    return [written, Alone(), Alone(b"z" * (n * 100)), Shared(CONTENT)]


def texts_in_memory(n):
    gathered = Gathered()
    for _ in range(3):
        gathered.write("y" * (1_000 + n))
    return [Whole("x" * (1_000 + n)), gathered]


def queues(n):
    queue = Queue()
    for number in range(n * 4):
        queue.put(number)
    return [queue]


def block(at, bytes_):
    """Small blocks are none of malloc's."""
    return USABLE(at) if bytes_ > 512 else bytes_


def of_string_io(o):
    bytes_ = block(field(o, 16), 4 * field(o, 40))
    if field(o, 48, 4) == 2 and MINOR >= 12:
        buffer = field(o, 56) if MINOR < 14 else int.from_bytes(ctypes.string_at(field(o, 56), 8), "little")
        bytes_ += block(buffer, 10_000)
    return bytes_


def of_queue(o):
    # From 3.15 on sys.getsizeof knows of it.
    return block(field(o, 40), 8 * field(o, 48)) if MINOR in (13, 14) else 0


def sum_of(kinds, beside=lambda o: 0):
    bytes_ = collections.Counter()
    for o in kinds:
        bytes_[type(o).__name__] += sys.getsizeof(o) + beside(o)
    return bytes_


def small():
    file = tempfile.TemporaryFile()
    file.write(bytes(50_000))
    file.flush()
    exact, about = [], {}
    for n in LENGTHS:
        exact += of_length(n) + packed(n) + ordered(n) + elements(n) + buffers(n)
        exact += [Decimal("7" * (n + 1)), Reader(io.FileIO(file.fileno(), closefd=False), 1_000 + n)]
    kept = [exact]
    exact = sum_of(exact)
    for kinds, beside in [
        ([o for n in LENGTHS for o in deques(n)], lambda o: BLOCK_OF_DEQUE * field(o, 72)),
        ([Mapped(-1, 50_000) for _ in range(3)], len),
        ([OfFile(file.fileno(), 50_000)], lambda o: 0),
    ]:
        kept.append(kinds)
        exact |= sum_of(kinds, beside)
    for kinds, beside in [
        ([o for n in LENGTHS for o in texts_in_memory(n)], of_string_io),
        ([o for n in LENGTHS for o in queues(n)], of_queue),
        ([Block() for _ in range(5)], lambda o: USABLE(ctypes.addressof(o))),
        ([Inside() for _ in range(5)], lambda o: 0),
    ]:
        kept.append(kinds)
        about |= {name: [bytes_, sum(type(o).__name__ == name for o in kinds)] for name, bytes_ in sum_of(kinds, beside).items()}
    kept += [[Tells()], [struct.Struct("i") for _ in range(3)], file]
    return kept, {"exact": exact, "about": about}


def large():
    # Zeros that nobody has written would not be resident.
    kept = [array.array("d", b"x" * 40_000_000), io.BytesIO(b"x" * 20_000_000), io.BytesIO(), collections.deque(range(1_000_000)), bytearray(b"x") * 10_000_000]
    kept[2].write(b"x" * 15_000_000)
    kept.append(io.StringIO("x" * 5_000_000))
    # As an extension in C does it.
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    hidden = libc.malloc(60_000_000) if "hidden" in sys.argv else 0
    if hidden:
        ctypes.memset(hidden, 1, 60_000_000)
    return kept, {}


kept, told = large() if "large" in sys.argv else small()
print("ready " + json.dumps(told), flush=True)
sys.stdin.readline()
print(json.dumps({"kept": len(kept)}), flush=True)
