"""Says what the running interpreter itself calls its C functions: one line a function, `file, address, owner, word`.

The address is a file address. Words come from slot wrappers, method and property descriptors and module functions, as
CPython made them from its tables; nothing is read from a symbol table.
"""

import ctypes
import importlib
import struct
import sys
import types

MODULES = """array _asyncio _bisect _bz2 _codecs _collections _contextvars _csv _ctypes _datetime _decimal _elementtree
    _functools _hashlib _heapq _io _json _lsprof _lzma _md5 _operator _pickle _posixsubprocess _queue _random _sha2
    _socket _sqlite3 _sre _ssl _statistics _string _struct _thread _typing _uuid _weakref _zoneinfo atexit binascii
    builtins cmath errno faulthandler fcntl gc grp itertools marshal math mmap posix pwd pyexpat resource select signal
    sys syslog termios time unicodedata zlib""".split()


class Files:
    """Where the files are mapped; from an address to file and file address."""

    def __init__(self):
        self.ranges = []
        bias_of = {}
        with open("/proc/self/maps") as maps:
            for line in maps:
                fields = line.split(None, 5)
                path = fields[5].strip() if len(fields) > 5 else ""
                if not path.startswith("/"):
                    continue
                start, end = (int(part, 16) for part in fields[0].split("-"))
                if path not in bias_of and int(fields[2], 16) == 0:
                    bias_of[path] = start - self.first_address(path)
                if path in bias_of:
                    self.ranges.append((start, end, path, bias_of[path]))

    @staticmethod
    def first_address(path):
        with open(path, "rb") as file:
            header = file.read(4096)
        if header[:4] != b"\x7fELF":
            return 0
        table, count = struct.unpack_from("<Q", header, 32)[0], struct.unpack_from("<H", header, 56)[0]
        loaded = [table + 56 * n for n in range(count) if struct.unpack_from("<I", header, table + 56 * n)[0] == 1]
        return struct.unpack_from("<Q", header, loaded[0] + 16)[0] & -4096

    def find(self, address):
        for start, end, path, bias in self.ranges:
            if start <= address < end:
                return path, address - bias
        return None


def pointer(address):
    return ctypes.c_void_p.from_address(address).value or 0


def text(address):
    return ctypes.string_at(address).decode() if address else ""


def type_name(cls):
    return text(pointer(id(cls) + 24))


def all_types():
    found, waiting = set(), [object]
    while waiting:
        cls = waiting.pop()
        if cls not in found:
            found.add(cls)
            waiting.extend(type.__subclasses__(cls))
    return found


def functions_of_type(cls):
    owner = type_name(cls)
    for attribute in vars(cls).values():
        if getattr(attribute, "__objclass__", None) is not cls:
            continue  # taken over from another class
        kind = type(attribute).__name__
        if kind == "wrapper_descriptor":
            yield pointer(id(attribute) + 48), owner, attribute.__name__
        elif kind in ("method_descriptor", "classmethod_descriptor"):
            entry = pointer(id(attribute) + 40)
            yield pointer(entry + 8), owner, text(pointer(entry))
        elif kind == "getset_descriptor":
            entry = pointer(id(attribute) + 40)
            for offset, word in ((8, "__get__"), (16, "__set__")):
                yield pointer(entry + offset), owner, text(pointer(entry)) + "." + word


def functions_of_module(module):
    for attribute in vars(module).values():
        if type(attribute) is types.BuiltinFunctionType and attribute.__self__ is module:
            entry = pointer(id(attribute) + 16)
            yield pointer(entry + 8), module.__name__, text(pointer(entry))


def main():
    modules = []
    for name in MODULES:
        try:
            modules.append(importlib.import_module(name))
        except ImportError:
            pass
    files = Files()
    lines = set()
    python_types = 1 << 9
    for cls in all_types():
        # A class made by a `class` statement is no table of C; heap types made from a specification are.
        if cls.__flags__ & python_types and "__module__" in vars(cls) and "__dict__" in vars(cls):
            continue
        lines.update((files.find(address), owner, word) for address, owner, word in functions_of_type(cls) if address)
    for module in modules:
        lines.update((files.find(address), owner, word) for address, owner, word in functions_of_module(module))
    for place, owner, word in sorted(line for line in lines if line[0]):
        print(place[0], format(place[1], "x"), owner, word, sep="\t")


sys.exit(main())
