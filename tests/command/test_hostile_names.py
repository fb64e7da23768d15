"""Names that steer a terminal, end a line or turn the direction of writing, in each place that a program or a foreign file has for them, through every verb
and format: nothing of it comes out raw, and JSON still says the names as they are."""

import json
import marshal
import os
import re
import signal
import struct
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from multiplexer import Window
from recording import binary
from visitors import View

# A letter of each kind: ends a line, the screen's title and colour, C1's own begin of such orders, a carriage return, the direction of writing, Unicode's ends of lines.
HOSTILE = "a\nb\x1b]0;title\x07\x1b[31mc\x9b2Jd\re\u202ef\u2066g\u2028h\u2029i\x85j\u200ek\x7fl"
# What tells that a name is there, whatever is done to its letters that do harm: they may be one sign, or numbers.
BEGINS = re.compile(r"a[^b]{1,8}b[^\]]{1,8}\]0")
CUT = re.compile(r"(?m)^b[^\]\n]{1,8}\]0")

PROGRAM = f"""
import gc, sys, threading, time

HOSTILE = {HOSTILE!r}
Hostile = type(HOSTILE, (), {{}})
kept = [Hostile() for _ in range(2000)]
for one in kept[:100]:
    one.itself = {{HOSTILE: one}}

text = "def spin(until):\\n    while time.thread_time() < until: sum(range(1000))\\n"
code = compile(text, "/tmp/" + HOSTILE.replace("/", "") + ".py", "exec")
names = {{"time": time}}
exec(code, names)
spin = names["spin"]
spin.__code__ = spin.__code__.replace(co_name=HOSTILE, **({{"co_qualname": HOSTILE}} if sys.version_info >= (3, 11) else {{}}))
thread = threading.Thread(target=spin, args=(0.3,), name=HOSTILE)
thread.start()
spin(0.3)
thread.join()
del kept, one
gc.collect()
if len(sys.argv) > 2:
    gc.disable()
    kept = [Hostile() for _ in range(2000)]
    for one in [Hostile() for _ in range(100)]:
        one.itself = {{HOSTILE: one}}
    del one
    print("ready", flush=True)
    sys.stdin.readline()
"""


def harmful(text: str) -> list[str]:
    """All but the ends of lines and tabs."""
    return [f"{at}: {letter!r}" for at, letter in enumerate(text) if letter not in "\n\t" and (unicodedata.category(letter) in ("Cc", "Zl", "Zp") or unicodedata.bidirectional(letter) in ("LRE", "LRO", "RLE", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI") or letter in "\u200e\u200f\u061c")]


def ran(folder: Path, *words: str, typed: bytes = b"") -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(folder / "cache"), "LANG": "C.UTF-8"}
    done = subprocess.run([str(binary()), *words], cwd=folder, env=environment, input=typed, capture_output=True, timeout=120)
    return subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())


def assert_harmless(done: subprocess.CompletedProcess[str]) -> None:
    """Either stream. A verb that has nothing to say of such a file says so; a command line that is none would judge nothing."""
    assert done.returncode == 0 or (done.returncode == 1 and "hint: " in done.stderr), done
    for page in (done.stdout, done.stderr):
        assert harmful(page) == [], page[:2000]
        # A name that ends a line would begin the next one. Who types it has it as it is typed.
        assert HOSTILE in done.args or not CUT.search(page), page[:2000]


def log_of_vmprof() -> bytes:
    """Format 1: 200 samples of a function of that name, in a file of that name, below `main`."""
    name = lambda address, text: b"\x02" + struct.pack("<qq", address, len(text.encode())) + text.encode()
    head = struct.pack("<5q", 0, 3, 0, 1000, 0) + b"\x05\x00\x01\x07cpython"
    names = name(16, "py:main:1:/app/main.py") + name(32, f"py:{HOSTILE}:1:/app/{HOSTILE}.py")
    return head + names + (b"\x01" + struct.pack("<5q", 1, 2, 32, 16, 1)) * 200 + b"\x03"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, python: str) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "hostile.py").write_text(PROGRAM)
    ran(folder, "run", "--quiet", "--gc", "--python", python, "-o", "app.genba", "hostile.py", HOSTILE)
    ran(folder, "run", "--quiet", "--python", python, "-o", "other.genba", "hostile.py", HOSTILE)
    function, caller = ("/tmp/" + HOSTILE, 3, HOSTILE), ("~", 0, f"<built-in method {HOSTILE}>")
    (folder / "one.prof").write_bytes(marshal.dumps({function: (9, 9, 1.0, 2.0, {caller: (9, 9, 1.0, 2.0)}), caller: (1, 1, 0.5, 2.5, {})}))
    (folder / "three.vmprof").write_bytes(log_of_vmprof())
    ran(folder, "trace", "--quiet", "--python", python, "-o", "traced.prof", "hostile.py", HOSTILE)
    (folder / "two.collapsed").write_text(f"main;{HOSTILE.replace(chr(10), '')} 70\n")
    return folder


@pytest.fixture(scope="module")
def python() -> str:
    return sys.executable


READERS = [
    ["report"], ["report", "--by", "function"], ["report", "--by", "thread"], ["report", "--by", "module"], ["report", "--by", "line"], ["report", "--by", "process"], ["report", "--by", "test"], ["report", "--format", "markdown"], ["report", "--format", "json"],
    ["tree"], ["tree", "--inverted"], ["tree", "--format", "markdown"], ["tree", "--format", "json"],
    ["lines"], ["lines", "--format", "markdown"], ["lines", "--format", "json"], ["check"], ["gc"], ["gc", "--format", "json"],
    ["export", "--to", "collapsed", "-o", "-"], ["export", "--to", "json", "-o", "-"], ["export", "--to", "speedscope", "-o", "-"], ["html", "-o", "-"],
    ["report", "--thread", "nobody"], ["report", "--process", "nobody"], ["tree", "--focus", "nobody"],
    ["push", "--dry-run", "FILE", "http://127.0.0.1:1"],
]
FILES = ["app.genba", "one.prof", "two.collapsed", "three.vmprof", "traced.prof"]


def shown(words: list[str]) -> str:
    return " ".join(words).replace(HOSTILE, "NAME")


@pytest.mark.parametrize("words", READERS, ids=" ".join)
@pytest.mark.parametrize("file", FILES)
def test_a_file(folder: Path, words: list[str], file: str) -> None:
    done = ran(folder, *(file if word == "FILE" else word for word in words), *([] if "FILE" in words else [file]))
    assert_harmless(done)
    if "json" in words and done.returncode == 0:
        json.loads(done.stdout)


@pytest.mark.parametrize("words", [["diff"], ["diff", "--format", "json"], ["diff", "--format", "markdown"], ["diff", "--limit", "0"], ["html", "-o", "-"]], ids=" ".join)
def test_two_files(folder: Path, words: list[str]) -> None:
    for a, b in [("app.genba", "other.genba"), ("one.prof", "traced.prof"), ("two.collapsed", "app.genba"), ("three.vmprof", "app.genba")]:
        assert_harmless(ran(folder, *words, a, b))


def test_served_pages(folder: Path, tmp_path: Path) -> None:
    """The list, each page, the comparison, and one that cannot be made, of files that have such names themselves."""
    files = [tmp_path / f"{HOSTILE}{name}" for name in (*FILES, "broken.genba")]
    for file, name in zip(files, FILES, strict=False):
        file.write_bytes((folder / name).read_bytes())
    files[-1].write_bytes(b"no recording")
    with View(binary(), *files) as view:
        places = ["", *(f"recording/{number}" for number in range(len(files))), "compare?before=0&after=3"]
        pages = [view.answer(f"{view.root}{place}")[1].decode().replace("\r\n", "\n") for place in places]
        os.kill(view.process.pid, signal.SIGINT)
        said = view.process.stderr.read() if view.process.stderr else ""
    assert all("]0;title" in page for page in (pages[0], pages[-2]))
    assert {place: harmful(page) for place, page in zip([*places, "stderr"], [*pages, said], strict=True) if harmful(page)} == {}


@pytest.mark.parametrize("words", [["--stats"], ["--callers"], ["--callees"], ["--awaits"], [f"--stats={HOSTILE}"], ["--stats", "--", HOSTILE]], ids=shown)
@pytest.mark.parametrize("file", ["one.prof", "traced.prof"])
def test_pstats(folder: Path, words: list[str], file: str) -> None:
    assert_harmless(ran(folder, "pstats", file, *words))


def test_the_shell_of_pstats(folder: Path) -> None:
    done = ran(folder, "pstats", "one.prof", typed=b"stats\ncallers\ncallees\nsort name\nadd traced.prof\nstats\n")
    assert_harmless(done)
    assert BEGINS.search(done.stdout), done


def test_the_list_behind_a_trace(folder: Path, python: str) -> None:
    done = ran(folder, "trace", "--python", python, "--sort", "time", "-o", "listed.prof", "--force", "hostile.py", HOSTILE)
    assert_harmless(done)
    assert BEGINS.search(done.stdout), done


def test_top(folder: Path) -> None:
    window = Window(folder, f"{binary()} top app.genba", columns=200, XDG_CACHE_HOME=str(folder / "cache"))
    try:
        page = window.until(lambda page: bool(BEGINS.search(page)))
        assert harmful(page) == [], page
    finally:
        window.close()


@pytest.fixture(scope="module")
def process(folder: Path, python: str) -> Iterator[subprocess.Popen]:
    with subprocess.Popen([python, "hostile.py", HOSTILE, "wait"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.stdin.close()


@pytest.mark.parametrize(
    "words",
    [
        ["dump"], ["dump", "--locals"], ["dump", "--native"], ["dump", "--format", "json"], ["dump", "--locals", "--format", "json"],
        ["heap", "--limit", "0"], ["heap", "--format", "json"], ["heap", "refs", "--class", "a"], ["heap", "refs", "--class", HOSTILE], ["heap", "refs", "--class", HOSTILE, "--format", "json"],
        ["gc", "cycles"], ["gc", "cycles", "--format", "json"], ["gc", "cycles", "-o", "-"], ["ps"], ["ps", "--format", "json"], ["doctor"], ["doctor", "--format", "json"],
    ],
    ids=shown,
)
def test_a_process(folder: Path, process: subprocess.Popen, words: list[str]) -> None:
    assert_harmless(ran(folder, *words, *([] if words[0] == "ps" else [str(process.pid)])))


def test_kept_heaps(folder: Path, process: subprocess.Popen) -> None:
    assert_harmless(ran(folder, "heap", "-o", "before.json", str(process.pid)))
    page = json.loads((folder / "before.json").read_text())
    for row in page["classes"]:
        row["count"] *= 2
    (folder / "after.json").write_text(json.dumps(page))
    for words in (["heap", "diff", "--limit", "0", "before.json", "after.json"], ["heap", "--limit", "0", "before.json"]):
        for form in ([], ["--format", "json"]):
            done = ran(folder, *words, *form)
            assert_harmless(done)
            assert BEGINS.search(done.stdout), done


@pytest.mark.parametrize("words", [["heap", "--limit", "0"], ["heap", "refs", "--class", HOSTILE], ["gc", "cycles"], ["dump"]], ids=shown)
def test_the_names_of_a_process_are_there(folder: Path, process: subprocess.Popen, words: list[str]) -> None:
    done = ran(folder, *words, str(process.pid))
    assert BEGINS.search(done.stdout), done


def test_the_names_are_there(folder: Path) -> None:
    """Else nothing was judged."""
    for words in (["report"], ["tree"], ["report", "--by", "thread"], ["export", "--to", "collapsed", "-o", "-"]):
        assert BEGINS.search(ran(folder, *words, "app.genba").stdout), words
    tables = json.loads(ran(folder, "export", "--to", "json", "-o", "-", "app.genba").stdout)
    assert HOSTILE in {frame["name"] for frame in tables["frames"]}
    assert HOSTILE in {thread["name"] for thread in tables["threads"]} and HOSTILE in tables["processes"][0]["argv"]
