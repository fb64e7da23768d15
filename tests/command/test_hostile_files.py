"""Small files that ask for much: a file of 60 kB never takes more than 150 MB, compressed or not, whatever is in it and whichever verb reads it.

And large ones that are what they say: counts of 60,000 functions are read within the same, and by `genba pstats` .prof files of 18 to 20 MB.
Whatever the file, beyond that it is never more than 20 times the text.
"""

import gzip
import marshal
import os
import re
import resource
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from recording import binary

PEAK_BYTES_MAX = 150_000_000
FILE_BYTES_MAX = 60_000
# What fits into 60 kB by gzip, which packs a thousand bytes into one.
PLAIN_BYTES = 58_000_000


def repeated(piece: bytes, plain_bytes: int = PLAIN_BYTES) -> bytes:
    return piece * (plain_bytes // len(piece))


def one_deep_line() -> bytes:
    return repeated(b"a;") + b"a 1\n"


def deep_lines(count: int) -> bytes:
    return b"".join(b"%d;" % line + b"a;" * 50_000 + b"a 1\n" for line in range(count))


def many_functions() -> bytes:
    return b"".join(b"f%d 1\n" % number for number in range(19_000))


def log_of_vmprof(records: Iterable[bytes]) -> bytes:
    # Format 1: a thread, no memory, no times.
    head = struct.pack("<5q", 0, 3, 0, 1000, 0) + b"\x05" + b"\x00\x01" + b"\x07cpython"
    return head + b"".join(records) + b"\x03"


def stack_of_vmprof(addresses: bytes, thread: int = 1) -> bytes:
    return b"\x01" + struct.pack("<qq", 1, len(addresses) // 8) + addresses + struct.pack("<q", thread)


def one_name_for_many_lines() -> bytes:
    # Format 4 with lines: a name of 1 MB, and a stack that has it at 32,768 lines.
    head = struct.pack("<5q", 0, 3, 0, 1000, 0) + b"\x05" + b"\x00\x04" + b"\x02" + b"\x07cpython"
    name = b"py:" + b"a" * 1_000_000 + b":1:a.py"
    lines = b"".join(struct.pack("<qq", line, 16) for line in range(1, 6_000))
    return head + b"\x02" + struct.pack("<qq", 16, len(name)) + name + stack_of_vmprof(lines) + b"\x03"


def one_name_for_many_calls() -> bytes:
    # Format 1: a function that calls itself.
    name = b"py:" + b"a" * 100_000 + b":1:a.py"
    return log_of_vmprof([b"\x02" + struct.pack("<qq", 16, len(name)) + name, stack_of_vmprof(struct.pack("<q", 16) * 5_000)])


def stacks_that_begin_alike() -> bytes:
    # Format 1: a recursion, seen at 400 depths of up to 10,000 calls. A call is 8 bytes here, and more than 100 in collapsed stacks.
    name = b"py:" + b"a" * 100 + b":1:a.py"
    stacks = [stack_of_vmprof(struct.pack("<q", 16) * 25 * number) for number in range(1, 401)]
    return log_of_vmprof([b"\x02" + struct.pack("<qq", 16, len(name)) + name, *stacks])


def rows_of_callers() -> bytes:
    """A .prof file whose callers are two references of five bytes each."""
    out = [b"{"]
    # (file, line, name), to which the callers refer: a tuple, then its three items.
    text = b"\xfa\x01a"
    out.append(b"\xa9\x03" + text + b"i" + struct.pack("<i", 1) + text)
    out.append(b")\x05" + b"i\1\0\0\0" * 2 + b"g" + bytes(8) + b"g" + bytes(8) + b"{")
    timing = b"\xa9\x04" + b"i\1\0\0\0" * 2 + b"g" + bytes(8) + b"g" + bytes(8)
    out.append(b"r\0\0\0\0" + timing)
    out.append(repeated(b"r\0\0\0\0r\3\0\0\0", PLAIN_BYTES // 2) + b"00")
    return b"".join(out)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "one deep line": one_deep_line,
    "deep lines": lambda: deep_lines(400),
    "fewer deep lines": lambda: deep_lines(4),
    "one name": lambda: repeated(b"a") + b" 1\n",
    "no text": lambda: repeated(b"\xff") + b" 1\n",
    "many lines": lambda: repeated(b"a 1\n"),
    "empty lines": lambda: b"a 1\n" + repeated(b"\n"),
    "many functions": many_functions,
    "samples of vmprof": lambda: log_of_vmprof([repeated(stack_of_vmprof(b""), PLAIN_BYTES // 3)]),
    "deep samples of vmprof": lambda: log_of_vmprof([stack_of_vmprof(struct.pack("<q", 16) * 60_000, n) for n in range(80)]),
    "names of vmprof": lambda: log_of_vmprof([repeated(b"\x02" + struct.pack("<qq", 16, 0), PLAIN_BYTES // 3)]),
    "one name of vmprof for many lines": one_name_for_many_lines,
    "one name of vmprof for many calls": one_name_for_many_calls,
    "rows of a .prof": rows_of_callers,
    "one name of a .prof that many call": lambda: b"".join(one_name_that_many_call(10_000)),
}


# A function, and the first bytes of what follows it.
ROW = b"{\xa9\x03\xda\x04a.pyi\x01\0\0\0\xda\x01f"
# One call of a second.
NUMBERS = b"i\1\0\0\0" * 2 + (b"g" + struct.pack("<d", 1)) * 2


def one_name_for_many_rows(letter: bytes = b"x") -> bytes:
    """A name of 16 kB, by references of five bytes."""
    name = letter * (1 << 14)
    first = b"{)\x03\xfa\x01ai\0\0\0\0\xf5" + struct.pack("<i", len(name)) + name + b")\x05" + NUMBERS + b"{0"
    rows = (b")\x03r\0\0\0\0i" + struct.pack("<i", line) + b"r\1\0\0\0)\x05" + NUMBERS + b"{0" for line in range(1, 600))
    return first + b"".join(rows) + b"0"


def one_name_that_many_call(callers: int) -> Iterable[bytes]:
    """A function with a name of 16 kB. Its callers have short ones."""
    name = b"x" * (1 << 14)
    yield b"{\xa9\x03\xfa\x01ai\0\0\0\0\xf5" + struct.pack("<i", len(name)) + name + b")\x05" + NUMBERS
    # Values 0 to 2 are the function, its file and its name, 3 is what each caller had.
    yield b"{r\0\0\0\0\xa9\x04" + NUMBERS
    yield from (b")\x03r\1\0\0\0i" + struct.pack("<i", line) + b"r\1\0\0\0r\3\0\0\0" for line in range(2, callers + 1))
    yield b"00"


def many_callers() -> bytes:
    """One function, to which its callers refer: the same one again and again, ten bytes each."""
    callers = (FILE_BYTES_MAX - 200) // 10
    return ROW + b")\x05" + NUMBERS + b"{r\0\0\0\0\xa9\x04" + NUMBERS + b"r\0\0\0\0r\3\0\0\0" * callers + b"00"


def callers_of_one_function(count: int) -> Iterable[bytes]:
    """Each another one, of 22 bytes."""
    yield ROW + b")\x05" + NUMBERS + b"{r\0\0\0\0\xa9\x04" + NUMBERS
    yield from (b")\x03r\1\0\0\0i" + struct.pack("<i", line) + b"r\2\0\0\0r\3\0\0\0" for line in range(2, count + 1))
    yield b"00"


def called_by_the_same(called: int, callers: int) -> Iterable[bytes]:
    """Functions that all have the same callers, by two references of five bytes each."""
    reference = lambda number: b"r" + struct.pack("<i", number)
    function = lambda line: b"\x03r\1\0\0\0i" + struct.pack("<i", line) + b"r\2\0\0\0"
    yield ROW + b")\x05" + NUMBERS + b"{r\0\0\0\0\xa9\x04" + NUMBERS
    yield from (b"\xa9" + function(line) + reference(3) for line in range(2, callers + 1))
    # Values 0 to 2 are the first function, its file and its name, 3 is what each caller had, those from 4 on are callers.
    same = b"".join(reference(caller) + reference(3) for caller in range(4, callers + 3))
    yield from (b"0)" + function(callers + line) + b")\x05" + NUMBERS + b"{" + same for line in range(1, called + 1))
    yield b"00"


def functions_alone(count: int) -> Iterable[bytes]:
    """Each another one, of 45 bytes."""
    yield b"{"
    yield from (b")\x03z\x01ai" + struct.pack("<i", line) + b"z\x01f)\x05" + NUMBERS + b"{0" for line in range(count))
    yield b"0"


# And how many bytes they have at least.
LARGE_PROFS: dict[str, tuple[Callable[[], Iterable[bytes]], int]] = {
    "callers of one function": (lambda: callers_of_one_function(900_000), 19_000_000),
    "the same callers of many": (lambda: called_by_the_same(2_000, 1_000), 19_900_000),
    "functions alone": (lambda: functions_alone(400_000), 18_000_000),
}


# As they are, and whether they can be read.
HOSTILE_PROFS: dict[str, tuple[Callable[[], bytes], bool]] = {
    "a string of 2 GB": (lambda: b"{)\x03s\xff\xff\xff\x7f", False),
    "a tuple of two billion": (lambda: ROW + b"(\xff\xff\xff\x7f", False),
    "a tuple of less than none": (lambda: ROW + b"(\0\0\0\x80", False),
    "a long of two billion digits": (lambda: ROW + b")\x05l\xff\xff\xff\x7f", False),
    "a long of as many below zero": (lambda: ROW + b")\x05l\0\0\0\x80", False),
    "tuples in tuples": (lambda: ROW + b")\x05" * 29_000, False),
    "one name for many rows": (one_name_for_many_rows, True),
    "many callers": (many_callers, True),
}


# A process of its own: a child begins with the peak of whoever forks it.
RUNNER = """
import os, subprocess, sys
with subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL) as process:
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
print(usage.ru_maxrss * 1024, process.returncode)
"""


def peak_bytes(*words: str | Path) -> tuple[int, int, str]:
    """Peak of what was resident, exit code, and what was said."""
    done = subprocess.run([sys.executable, "-c", RUNNER, binary(), *words], capture_output=True, text=True, check=True, timeout=180)
    peak, code = map(int, done.stdout.split())
    return peak, code, done.stderr


def packed(folder: Path, plain: bytes) -> Path:
    file = folder / "hostile.gz"
    file.write_bytes(gzip.compress(plain, 9))
    assert file.stat().st_size <= FILE_BYTES_MAX
    return file


@pytest.mark.parametrize("name", HOSTILE)
def test_a_small_file_takes_little_memory(tmp_path: Path, name: str) -> None:
    file = packed(tmp_path, HOSTILE[name]())
    for words in (("report", file), ("tree", file), ("lines", file), ("export", "--to", "json", "-o", "-", file), ("html", "-o", "-", file)):
        peak, code, said = peak_bytes(*words)
        assert code in {0, 1} and "panicked" not in said, said
        assert peak <= PEAK_BYTES_MAX, (words[0], peak, code, said)


@pytest.mark.parametrize("to", ["collapsed", "speedscope"])
def test_stacks_that_begin_alike_are_exported_in_little_memory(tmp_path: Path, to: str) -> None:
    peak, code, said = peak_bytes("export", "--to", to, "-o", "-", packed(tmp_path, stacks_that_begin_alike()))
    assert code == 0 and peak <= PEAK_BYTES_MAX, (peak, code, said)


def test_a_large_file_takes_twenty_times_its_text(tmp_path: Path) -> None:
    """And no more than a small one may in any case. It is what it says: each stack has a function of its own."""
    file = tmp_path / "large.txt"
    file.write_text("".join(f"main;request_{number % 977};step_{number} {number % 7 + 1}\n" for number in range(60_000)))
    for words in (("report", file), ("tree", file)):
        peak, code, said = peak_bytes(*words)
        assert code == 0 and peak <= PEAK_BYTES_MAX + 20 * file.stat().st_size, (words[0], peak, said)


@pytest.mark.parametrize("name", HOSTILE_PROFS)
def test_a_small_prof_takes_little_memory(tmp_path: Path, name: str) -> None:
    make, is_read = HOSTILE_PROFS[name]
    file = tmp_path / "hostile.prof"
    file.write_bytes(make())
    assert file.stat().st_size <= FILE_BYTES_MAX
    for words in (("pstats", file, "--stats"), ("pstats", file, "--callers", "3"), ("report", file), ("tree", file), ("diff", file, file)):
        peak, code, said = peak_bytes(*words)
        assert (code, "damaged at byte " in said) == ((0, False) if is_read else (1, True)), (words[0], code, said)
        assert "panicked" not in said and peak <= PEAK_BYTES_MAX, (words[0], peak, said)


@pytest.mark.parametrize("name", LARGE_PROFS)
def test_a_large_prof_is_listed_in_the_same_memory(tmp_path: Path, name: str) -> None:
    make, bytes_min = LARGE_PROFS[name]
    file = tmp_path / "large.prof"
    file.write_bytes(b"".join(make()))
    assert file.stat().st_size >= bytes_min
    for words in (("--stats", "9"), ("--callers", "9")):
        peak, code, said = peak_bytes("pstats", file, *words)
        assert code == 0 and peak <= PEAK_BYTES_MAX, (words, peak, code, said)


@pytest.mark.parametrize(("count", "is_read"), [(100_000, True), (200_000, False)])
def test_a_large_prof_takes_twenty_times_its_text(tmp_path: Path, count: int, is_read: bool) -> None:
    """As short as rows can be. Where that is too little, `genba pstats` is named, which lists them all."""
    file = tmp_path / "large.prof"
    file.write_bytes(b"".join(functions_alone(count)))
    for words in (("report", file), ("tree", file), ("html", "-o", tmp_path / "page.html", file)):
        peak, code, said = peak_bytes(*words)
        assert code == (0 if is_read else 1) and ("genba pstats reads more of a .prof file" in " ".join(said.split())) != is_read, (words[0], said)
        assert peak <= PEAK_BYTES_MAX + 20 * file.stat().st_size, (words[0], peak, said)


def small_profs(folder: Path) -> list[Path]:
    """Each has names of its own, which are 10 MB when they are spelled out."""
    files = [folder / f"{letter}.prof" for letter in "abcdefghijklmnop"]
    for file in files:
        file.write_bytes(one_name_for_many_rows(file.stem.encode()))
        assert file.stat().st_size <= FILE_BYTES_MAX
    return files


def test_several_small_profs_take_little_memory_together(tmp_path: Path) -> None:
    """After some of them the next one is refused, by its size."""
    files = small_profs(tmp_path)
    for count, expected in ((4, 0), (len(files), 1)):
        peak, code, said = peak_bytes("pstats", *files[:count], "--sort", "stdname", "--stats", "3")
        assert code == expected and "panicked" not in said and peak <= PEAK_BYTES_MAX, (count, peak, code, said)
    said = " ".join(said.split())
    assert "the most that genba takes for its size" in said and re.search(r"hint: genba pstats \S+\.prof tries it alone", said), said


def test_the_shell_of_pstats_reads_one_small_prof_after_the_other(tmp_path: Path) -> None:
    """Each takes the place of the one before it, and of its memory. All of them together are refused there, too."""
    files = small_profs(tmp_path)
    shell = lambda word: subprocess.run(
        [binary(), "pstats", files[0]], input="".join(f"{word} {file}\nstats 1\n" for file in files), capture_output=True, text=True, timeout=180
    )
    read, added = shell("read"), shell("add")
    assert (read.returncode, read.stderr, added.returncode) == (0, "", 0), read.stderr
    assert "for its size" in added.stdout and "for its size" not in read.stdout
    assert [file.name for file in files if f"    {file}\n" not in read.stdout] == []


def test_a_prof_that_needs_more_memory_than_is_left_is_not_called_damaged(tmp_path: Path) -> None:
    limit_mb = 300
    limited = lambda: resource.setrlimit(resource.RLIMIT_AS, (limit_mb * 1_000_000,) * 2)
    file = tmp_path / "large.prof"
    file.write_bytes(b"".join(called_by_the_same(2_000, 1_000)))
    mb = r"([\d.]+) MB"
    share = f"half of the {mb} that this process may still take"
    about = f"needs about {mb} of memory, and genba takes at most {mb}: {share}"
    more = f"needs more than {mb} of memory, the most that genba takes: {share}"
    readers = (("pstats", file, "--stats", "9"), about), (("report", file), more), (("tree", file), more), (("html", "-o", "-", file), more)
    for words, pattern in readers:
        done = subprocess.run([binary(), *words], capture_output=True, text=True, timeout=180, preexec_fn=limited)
        said = " ".join(done.stderr.split())
        assert (done.returncode, done.stdout) == (1, "") and f"{file} is too large to be read here" in said, (words[0], done.returncode, said)
        assert "hint: read it where more memory is left" in said and "damaged" not in said and "panicked" not in said, said
        bound = re.search(pattern, said)
        assert bound, said
        *needed_mb, most_mb, left_mb = map(float, bound.groups())
        assert all(most_mb < needed < limit_mb for needed in needed_mb) and left_mb < limit_mb and abs(left_mb - 2 * most_mb) <= 1, said


def test_many_functions_are_read_by_every_reader(tmp_path: Path) -> None:
    """What `genba pstats` reads, the other readers do, too."""
    function = lambda line: ("app.py", line, f"f{line}")
    alone, called = tmp_path / "alone.prof", tmp_path / "called.prof"
    alone.write_bytes(marshal.dumps({function(line): (1, 1, 0.5, 0.5, {}) for line in range(60_000)}))
    called.write_bytes(marshal.dumps({function(line): (1, 1, 0.5, 0.5, {function(line - 1): (1, 1, 0.5, 0.5)}) for line in range(60_000)}))
    for file in (alone, called):
        for words in (("pstats", file, "--stats", "9"), ("report", file), ("tree", file)):
            peak, code, said = peak_bytes(*words)
            assert code == 0 and peak <= PEAK_BYTES_MAX, (words[0], file.name, peak, said)
    for words in (("html", "-o", tmp_path / "page.html", called), ("export", "--to", "collapsed", "-o", "-", called), ("diff", alone, called)):
        _, code, said = peak_bytes(*words)
        assert code == 0, (words[0], said)
