"""Recordings made byte by byte, as FORMAT.md describes them: small honest ones, large ones, and ones that mean harm.

Owns: framing, checksums and the few messages that a recording needs. Never: asks genba; what it accepts is for the tests to say.
"""

import functools
import hashlib
import random
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

MAGIC = b"\x89genba\r\n"
VERSION = 3
QUANTUM_NS = 16_000
BEGAN_NS = 1_000_000_000
REALTIME_NS = 1_795_183_320_000_000_000
TICK_NS = 1_000_000
# A block's payload may hold 8 MiB; a stored zstd block 128 KiB.
PIECE_BYTES = 1 << 17
# A field of `Block` that no version knows: readers skip it.
UNKNOWN_FIELD = 1000


@functools.cache
def _table() -> list[int]:
    rows = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        rows.append(byte)
    return rows


@functools.lru_cache(maxsize=1024)
def crc32c(data: bytes) -> int:
    table, crc = _table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def number(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value)


def text(tag: int, value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(tag << 3 | 2) + varint(len(data)) + data


def numbers(tag: int, values: Iterable[int]) -> bytes:
    return text(tag, b"".join(map(varint, values)))


def zigzag(value: int) -> int:
    return value << 1 if value >= 0 else ~(value << 1)


def stored(data: bytes) -> bytes:
    """A zstd frame that holds `data` as it is."""
    pieces = [data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES)] or [b""]
    out = [_frame_head(len(data))]
    for piece in pieces:
        out += [_block_head(len(piece), 0, piece is pieces[-1]), piece]
    return b"".join(out)


def zeros(head: bytes, count: int) -> bytes:
    """A zstd frame of a few hundred bytes that becomes `head` and `count` zero bytes."""
    out = [_frame_head(len(head) + count), _block_head(len(head), 0, False), head]
    while count > 0:
        run = min(count, PIECE_BYTES)
        count -= run
        out += [_block_head(run, 1, count == 0), b"\0"]
    return b"".join(out)


def _frame_head(plain_bytes: int) -> bytes:
    # Eight bytes of content size, no single segment: the window is 128 KiB.
    return bytes.fromhex("28b52ffd") + bytes([0xC0, 0x38]) + plain_bytes.to_bytes(8, "little")


def _block_head(size: int, kind: int, last: bool) -> bytes:
    return (size << 3 | kind << 1 | last).to_bytes(3, "little")


def block(key: bytes, sequence: int, payload: bytes, plain_bytes: int, *, span_ns: int = TICK_NS, version: int = VERSION) -> bytes:
    head = b"".join(
        [
            MAGIC,
            version.to_bytes(2, "little"),
            key,
            *(value.to_bytes(8, "little") for value in (sequence, BEGAN_NS, BEGAN_NS + span_ns)),
            *(value.to_bytes(4, "little") for value in (len(payload), plain_bytes, crc32c(payload))),
        ]
    )
    return head + crc32c(head).to_bytes(4, "little") + payload


@dataclass
class Crafted:
    """One process with one thread and one stack, which took `samples` ms of CPU."""

    argv: list[str] = field(default_factory=lambda: ["python3.13", "app.py"])
    function: str = "work"
    file: str = "/srv/app.py"
    tags: list[str] = field(default_factory=list)
    samples: int = 300
    seed: int = 1
    depth: int = 1

    def key(self) -> bytes:
        return hashlib.sha256(repr(self).encode()).digest()[:16]

    def payload(self) -> bytes:
        each = TICK_NS // QUANTUM_NS
        sampled_ns = each * QUANTUM_NS * self.samples
        start = b"".join(
            [
                number(1, 4127),
                number(2, 1),
                text(4, "/usr/bin/python3.13"),
                *(text(5, word) for word in self.argv),
                text(6, "3.13.5"),
                text(7, "0.1.0"),
                number(8, TICK_NS),
                number(9, REALTIME_NS + self.seed * 1_000_000_000),
                number(10, BEGAN_NS),
                *(text(12, tag) for tag in self.tags),
                number(13, 1),
                text(15, "/srv"),
            ]
        )
        frames = range(self.depth)
        nodes = b"".join(
            [numbers(1, frames), numbers(2, [0] * self.depth), numbers(3, [0] * self.depth), numbers(4, [0] * self.depth)]
        )
        tables = b"".join(
            [
                *(text(2, one) for one in (self.function, self.file, "python3.13")),
                text(6, number(1, 0) + number(2, 1) + number(3, 5)),
                text(8, nodes),
                text(10, number(1, 4127) + number(2, 2) + number(3, BEGAN_NS)),
            ]
        )
        rows = self.samples
        samples = b"".join(
            [
                numbers(1, [zigzag(each)] * rows),
                numbers(2, [0] * rows),
                numbers(3, [self.depth] * rows),
                numbers(4, [0] * rows),
                numbers(5, [1] * rows),
                numbers(6, [each] * rows),
                numbers(7, [each] * rows),
            ]
        )
        accounting = b"".join([number(1, rows), number(2, rows), number(5, sampled_ns), number(7, sampled_ns)])
        return b"".join([text(1, start), text(2, tables), text(3, samples), text(4, accounting), text(6, text(1, "exit"))])

    def recording(self) -> bytes:
        plain = self.payload()
        return block(self.key(), 0, stored(plain), len(plain), span_ns=self.samples * TICK_NS)

    def padded(self, size_bytes: int) -> bytes:
        """At least so long: followed by blocks of random bytes that readers skip."""
        out = [self.recording()]
        plain = padding(self.seed // 4 % PADDINGS)
        payload = stored(plain)
        for sequence in range(1, 1 + -(-size_bytes // len(payload))):
            out.append(block(self.key(), sequence, payload, len(plain)))
        return b"".join(out)


# Neighbours have others, so that a piece in the wrong place is seen. Python takes a tenth of a second for the checksum of each.
PADDINGS = 8


@functools.cache
def padding(kind: int) -> bytes:
    return text(UNKNOWN_FIELD, random.Random(kind).randbytes(1 << 20))


def unique(seed: int) -> bytes:
    """A small recording that no other seed gives."""
    return Crafted(argv=["python3.13", f"job_{seed}.py", "--day", str(seed % 31)], seed=seed, samples=20 + seed % 200).recording()


def gzip_of_zeros(plain_bytes: int) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    piece = bytes(1_000_000)
    return b"".join(packer.compress(piece) for _ in range(plain_bytes // len(piece))) + packer.flush()


def hostile() -> dict[str, Callable[[], bytes]]:
    """Recordings that a reader must refuse or survive, by what they try. Each is made when it is asked for: every pytest collects their names,
    and together they take seconds."""
    honest = Crafted().recording()
    key, plain_bytes = Crafted().key(), 8 << 20
    head = varint(UNKNOWN_FIELD << 3 | 2) + varint(plain_bytes - 6)
    assert len(head) == 6
    bomb = zeros(head, plain_bytes - len(head))
    empty_tags = text(1, (b"\x62\x00") * (1 << 20))
    window = bytes.fromhex("28b52ffd") + bytes([0x00, 0xF8]) + b"\x01\x00\x00"
    return {
        "garbage": lambda: random.Random(7).randbytes(100_000),
        "nothing": lambda: b"",
        "magic alone": lambda: MAGIC,
        "cut in the middle": lambda: honest[: len(honest) // 2],
        "of a later version": lambda: block(key, 0, stored(b""), 0, version=99),
        "blocks that become 8 MiB each": lambda: honest + b"".join(block(key, n, bomb, plain_bytes) for n in range(1, 3000)),
        # A log of vmprof may be compressed as a whole; this is more than is read of so small a file.
        "a gzip that becomes 100 MB": lambda: gzip_of_zeros(100_000_000),
        "a million empty tags": lambda: block(key, 0, stored(empty_tags), len(empty_tags)),
        "a huge zstd window": lambda: block(key, 0, window, plain_bytes),
        "a stack of a million frames": lambda: Crafted(depth=1_000_000).recording(),
        "a function name of 2 MB": lambda: Crafted(function="n" * 2_000_000).recording(),
        "a command line of 2 MB": lambda: Crafted(argv=["python3.13", *["a" * 1000] * 2000]).recording(),
        "a file above the root": lambda: Crafted(file="/../../../../etc/passwd").recording(),
        "ten thousand tags": lambda: Crafted(tags=[f"k{n}={'v' * 100}" for n in range(10_000)]).recording(),
    }


SCRIPT = "<script>alert(1)</script>"
BROKEN_OUT = "</script><img src=x onerror=alert(2)>"


def scripted() -> Crafted:
    """Script wherever a recording has a name."""
    return Crafted(
        argv=["python3.13", f"{SCRIPT}.py", f"--x={BROKEN_OUT}"],
        function=f"{BROKEN_OUT}{SCRIPT}",
        file=f"/srv/{SCRIPT}\u2028{BROKEN_OUT}.py",
        tags=[f"note={SCRIPT}", f"more={BROKEN_OUT}"],
    )
