"""Many of Python's builtins and modules written in C, each for the same CPU time: what a typical program spends its time in.

Usage: many_builtins.py SECONDS (of CPU, for each part) [WITHOUT…] (parts to leave out). Prints one line of JSON: how often each part ran.
"""

import array
import asyncio
import base64
import bisect
import collections
import csv
import datetime
import decimal
import functools
import hashlib
import heapq
import importlib
import io
import itertools
import json
import math
import operator
import pickle
import random
import re
import sqlite3
import struct
import sys
import time
import zlib

WORDS = [f"{random.Random(n).randrange(10**6)}-word{n % 97}" for n in range(3000)]
TEXT = " ".join(WORDS)
RECORD = {"names": WORDS[:300], "numbers": [n * 1.5 for n in range(300)], "nested": {w: [1, None, True] for w in WORDS[:99]}}
BYTES = TEXT.encode()


def json_both() -> None:
    json.loads(json.dumps(RECORD))


def patterns() -> None:
    re.findall(r"(\d+)-(word[0-9]{2})\b", TEXT)
    re.sub(r"[aeiou]+(?=r)", "_", TEXT)
    re.compile(r"x(a|b)*?y").split(TEXT)


def sorting() -> None:
    sorted(WORDS)
    sorted(WORDS, key=len)
    sorted((float(n % 89) for n in range(2000)), reverse=True)
    min(WORDS), max(WORDS, key=str.upper), sum(range(5000)), any(map(str.isdigit, WORDS))


def dicts() -> None:
    table = {word: n for n, word in enumerate(WORDS)}
    table.update(dict.fromkeys(WORDS[::2]))
    copy = {**table, "more": 1}
    for word in WORDS:
        copy.pop(word, None)
        table.get(word), table.setdefault(word, 1), word in copy
    list(table.items()), list(table.values()), table == copy


def sets() -> None:
    left, right = set(WORDS), frozenset(WORDS[::3])
    left & right, left | right, left - right, left ^ right, right <= left
    left.update(right), left.discard("x"), sorted(left.intersection(WORDS))


def strings() -> None:
    for word in WORDS[:500]:
        word.upper().title().replace("W", "ww").strip("0").split("-"), word.find("word"), word.startswith("1")
        f"{word:>20}|{len(word):05d}|{len(word) / 3:.4f}", "%s and %r" % (word, word), "{:x}".format(len(word))
        word.encode().decode("utf-8"), word.translate({45: 46}), word == word[:-1] + word[-1]
    "\n".join(WORDS).splitlines(), TEXT.count("word"), TEXT.casefold(), TEXT[::-1], repr(TEXT), "é漢" * 100 in TEXT


def byte_strings() -> None:
    for n in range(0, 3000, 3):
        BYTES[n:][:20], bytearray(BYTES[:50]).extend(BYTES[:10])
    BYTES.split(b" "), BYTES.replace(b"word", b"w"), BYTES.hex(), bytes.fromhex("ab" * 500), BYTES.find(b"nothing")
    memoryview(BYTES)[10:1000:2].tobytes(), b"".join([BYTES] * 3), base64.b64decode(base64.b64encode(BYTES))


def decimals() -> None:
    with decimal.localcontext(prec=60):
        total = decimal.Decimal(1)
        for n in range(1, 200):
            total = total / n + decimal.Decimal(n).sqrt() * decimal.Decimal("1.1")
        str(total), total.ln(), total.quantize(decimal.Decimal("0.01")), total**3


def digests() -> None:
    for name in ("md5", "sha1", "sha256", "sha3_256", "blake2b"):
        hashlib.new(name, BYTES).hexdigest()
    hash(TEXT + "x"), zlib.crc32(BYTES), zlib.adler32(BYTES)


def structs() -> None:
    packed = b"".join(struct.pack("<IhdQ8s", n, n % 99, n / 7, n << 40, b"abc") for n in range(300))
    list(struct.iter_unpack("<IhdQ8s", packed)), struct.Struct(">10i").unpack(bytes(40))
    numbers = array.array("d", range(500))
    numbers.byteswap(), numbers.tolist(), array.array("i", [1, 2] * 100).tobytes()


def iterators() -> None:
    list(itertools.islice(itertools.permutations(range(8)), 2000)), list(itertools.combinations(range(14), 3))
    list(itertools.chain.from_iterable([WORDS, WORDS])), list(itertools.product(range(12), repeat=3))
    list(itertools.accumulate(range(1000), operator.mul, initial=0)), list(zip(WORDS, itertools.count()))
    [list(group) for _, group in itertools.groupby(WORDS, key=len)], list(filter(None, map(len, WORDS)))
    functools.reduce(operator.add, range(2000)), list(enumerate(reversed(WORDS)))


def pickles() -> None:
    for protocol in (2, 5):
        pickle.loads(pickle.dumps((RECORD, {1, 2}, datetime.date(2020, 1, 2), collections.OrderedDict(a=1)), protocol))


def database() -> None:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table words(id integer primary key, word text, size real)")
        connection.executemany("insert into words(word, size) values (?, ?)", ((w, len(w) / 2) for w in WORDS[:600]))
        connection.execute("create index by_word on words(word)")
        connection.execute("select word, avg(size), count(*) from words group by size order by word").fetchall()
        connection.execute("select a.word from words a join words b on a.id = b.id + 1 where b.word like '%9%'").fetchall()
    connection.close()


def compression() -> None:
    zlib.decompress(zlib.compress(BYTES, 6))


def event_loop() -> None:
    async def one(n: int) -> int:
        await asyncio.sleep(0)
        return n

    async def many() -> None:
        queue: asyncio.Queue[int] = asyncio.Queue()
        await asyncio.gather(*(one(n) for n in range(100)))
        for n in range(100):
            await queue.put(n)
            await queue.get()

    asyncio.run(many())


def imports() -> None:
    for name in ("csv", "textwrap", "colorsys", "fractions", "string", "shlex"):
        sys.modules.pop(name, None)
        importlib.import_module(name)
    compile("def f(a, *b):\n    return [x * a for x in b if x] or {'k': f'{a}'}\n" * 20, "made", "exec")


def integers() -> None:
    number = 3**900
    number * number // 7**300, pow(5, 1000, number), str(number), int("7" * 400), number.bit_count(), math.gcd(number, 6**500)
    [n * n % 1000 for n in range(500)], divmod(number, 12345), math.factorial(150), math.comb(200, 50), hex(number)


def floats() -> None:
    for n in range(400):
        float(repr(n / 7)), round(n / 3, 2), math.sin(n) ** 2.5, complex(n, 1) * 2j, (n / 9).as_integer_ratio()
    math.fsum(range(500)), random.random(), random.sample(range(1000), 50), random.gauss(0, 1)


def dates() -> None:
    for n in range(150):
        day = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(hours=n)
        day.isoformat(), day.strftime("%Y-%m-%d"), day.timestamp(), datetime.datetime.fromisoformat(day.isoformat())


def streams() -> None:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows([word, len(word), 1.5] for word in WORDS[:300])
    list(csv.reader(io.StringIO(out.getvalue()))), io.BytesIO(BYTES).readlines()
    text = io.TextIOWrapper(io.BytesIO(BYTES.replace(b" ", b"\n")), encoding="utf-8")
    [line.rstrip() for line in text]
    with open(__file__, "rb") as file:
        file.read(), file.seek(0), file.readline()


def containers() -> None:
    queue = collections.deque(WORDS, maxlen=2000)
    queue.rotate(5), queue.appendleft("x"), collections.Counter(TEXT).most_common(5)
    grouped = collections.defaultdict(list)
    for word in WORDS[:800]:
        grouped[len(word)].append(word)
        queue.popleft()
    heap = list(range(500, 0, -1))
    heapq.heapify(heap), [heapq.heappop(heap) for _ in range(300)], bisect.bisect(WORDS, "5"), heapq.nsmallest(9, WORDS)
    rows = [[n, str(n)] for n in range(800)]
    rows.sort(key=operator.itemgetter(1)), rows.reverse(), rows.insert(3, []), rows.index([]), rows[5:60], rows * 2, rows + rows


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x: int, y: int) -> None:
        self.x, self.y = x, y

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and self.x == other.x

    def __hash__(self) -> int:
        return hash((self.x, self.y))


Pair = collections.namedtuple("Pair", "left right")


def classes() -> None:
    points = {Point(n % 50, n) for n in range(600)}
    sorted(points, key=operator.attrgetter("x")), [getattr(p, "x") for p in points], [isinstance(p, Point) for p in points]
    [Pair(n, n)._replace(left=1) for n in range(100)], [super(Point, p).__hash__() for p in points]
    type("Made", (Point,), {"z": 1})(1, 2), property(len), functools.partial(max, 1)(2), functools.lru_cache(len)


PARTS = (
    json_both, patterns, sorting, dicts, sets, strings, byte_strings, decimals, digests, structs, iterators, pickles,
    database, compression, event_loop, imports, integers, floats, dates, streams, containers, classes,
)  # fmt: skip


def main() -> None:
    seconds = float(sys.argv[1])
    runs = {}
    for part in PARTS:
        if part.__name__ in sys.argv[2:]:
            continue
        end = time.process_time() + seconds
        runs[part.__name__] = 0
        while time.process_time() < end:
            part()
            runs[part.__name__] += 1
    print(json.dumps(runs))


main()
