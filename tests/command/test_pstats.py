"""`genba pstats` beside `python -m pstats`: the same lines go in, the same bytes come out, of files that cProfile and profile wrote."""

import os
import pty
import select
import subprocess
from pathlib import Path

import pytest

import interpreters
from recording import REPOSITORY, binary

PROFS = REPOSITORY / "testdata/imports"
# Each word of the shell, each key, and each kind of restriction, with mistakes between them.
SCRIPT = r"""
stats
sort time
stats 4
stats .5 f
stats 1.5 3
stats 1e-5
stats 0.25

sort nothing
sort
sort cumu na
stats -1 100
callers
callees fib
callers 'no"such
stats [
stats 1_0 +2
sort nfl
strip
stats
sort pcalls
reverse
stats
callees
callers main
add {other}
stats
sort stdname
stats
add no-such.prof
callers
sort filename line
stats
strip
sort module
callees 2
sort calls
stats
sort ca
stats 3
help
help stats
?sort
help add
help callees
help callers
help help
help quit
help read
help reverse
help sort
help strip
help EOF
help nothing
!shell
=
what is this
read no-such.prof
read {first}
stats 1
read
stats 2
quit
"""
# What Python takes otherwise than the crate `regex` would, and what it refuses. Python warns of some: `[[]` may be a set in a set one day.
EXPRESSIONS = r"""
{method
{built-in|fib
fib{
fib{1
fib{1}
x{,3}fib
^p{,2}
n{2,}
}
{3}
\<
\>
\<l\w+\>
\_
\/
\"
\é
^\S+\Z
\w+\)$
[[]
[]:]
[^]f]
[[:alpha:]]
[a&&b]
[&&]
[~~a]
[a~~z]
[a--b]
[+--]
[\w-]{12}
\101
\146ib
\0
[\146]ib
\x66ib
\x{66}ib
\u0066ib
\1
\z
\pL
\b{start}
\bfib
(?P<a>f)ib
(?<a>f)ib
(?#no)fib
(?i)FIB
f(?i)IB
(?i:FIB)
(?i-s)fib
f**
f{2}{3}
^*
(fib
fib)
[b-a]
"""
ENVIRONMENT = {"PATH": os.environ["PATH"], "TZ": "Asia/Kolkata", "LC_ALL": "C.UTF-8", "PYTHONWARNINGS": "ignore"}


@pytest.fixture(scope="module")
def python() -> str:
    return next(found.path for found in interpreters.from_pyenv() if found.name == "3.13")


def said(command: list[str], lines: str) -> str:
    done = subprocess.run(command, input=lines, capture_output=True, text=True, cwd=PROFS, env=ENVIRONMENT, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


@pytest.mark.parametrize("first", ["cprofile-3.6.15.prof", "cprofile-3.13.0.prof", "cprofile-pypy-3.9.prof", "profile-3.13.0.prof"])
def test_the_shell_prints_what_pstats_prints(first: str, python: str) -> None:
    other = "profile-3.13.0.prof" if first.startswith("profile") else "cprofile-3.15.2.prof"
    lines = SCRIPT.format(first=first, other=other)
    expected = said([python, "-m", "pstats", first], lines)
    assert expected.count("function calls") > 15 and "<- " in expected and "-> " in expected
    assert said([str(binary()), "pstats", first], lines) == expected


@pytest.mark.parametrize("first", ["cprofile-3.13.0.prof", "profile-3.13.0.prof"])
def test_expressions_choose_the_names_that_they_choose_in_python(first: str, python: str) -> None:
    lines = "".join(f"stats {expression}\n" for expression in EXPRESSIONS.split())
    expected = said([python, "-m", "pstats", first], lines)
    assert expected.count("List reduced") > 20 and expected.count("<Invalid") > 10
    assert said([str(binary()), "pstats", first], lines) == expected


KEYS = "calls cumtime cumulative filename line module name ncalls nfl pcalls stdname time tottime".split()


@pytest.mark.parametrize("first", ["cprofile-3.13.0.prof", "profile-3.13.0.prof"])
def test_every_key_and_every_beginning_of_one_sorts_as_in_pstats(first: str, python: str) -> None:
    """Some beginnings are refused: they would be those of several keys."""
    beginnings = dict.fromkeys(key[:length] for key in KEYS for length in range(1, len(key) + 1))
    lines = "sort time\n" + "".join(f"sort {beginning}\nstats 9\n" for beginning in beginnings)
    expected = said([python, "-m", "pstats", first], lines)
    assert all(f"\n{key} -- " in expected for key in KEYS) and expected.count("Ordered by: ") == len(beginnings)
    assert said([str(binary()), "pstats", first], lines) == expected


def test_expressions_that_only_python_matches_are_told() -> None:
    lines = "".join(f"stats {expression}\n" for expression in ["(?<=o)b", "(?P<a>f)(?P=a)", r"(f)\1", "fib++", "(?>fib)", "(?a)fib", "(?x)fib"])
    assert said([str(binary()), "pstats", "cprofile-3.13.0.prof"], lines).count("<Unsupported regular expression ") == 7


def test_the_shell_without_a_file_and_with_several(python: str) -> None:
    lines = "stats\nadd x\nread\nsort time\nreverse\nstrip\ncallers 3 1.1\nread cprofile-3.13.0.prof\nstats 1\n"
    assert said([str(binary()), "pstats"], lines) == said([python, "-m", "pstats"], lines)
    files = ["cprofile-3.13.0.prof", "cprofile-3.15.2.prof", "cprofile-3.6.15.prof"]
    lines = "sort cumulative\nstats\ncallees\ncallers\nEOF\nstats\n"
    assert said([str(binary()), "pstats", *files], lines) == said([python, "-m", "pstats", *files], lines)


def test_options_print_what_the_words_print(python: str) -> None:
    program = (
        "import pstats\n"
        "stats = pstats.Stats('cprofile-3.13.0.prof', 'cprofile-3.15.2.prof').strip_dirs().sort_stats('time', 'name').reverse_order()\n"
        "stats.print_stats('fib', .5).print_stats(3).print_callers().print_callees(4)\n"
    )
    words = "pstats cprofile-3.13.0.prof cprofile-3.15.2.prof --strip --sort time,name --reverse --stats".split()
    options = [*words, "fib .5", "--callees", "4", "--callers", "--stats", "3"]
    assert said([str(binary()), *options], "") == said([python, "-c", program], "")
    alone = "import pstats; pstats.Stats('profile-3.13.0.prof').sort_stats('cumulative').print_stats()"
    assert said([str(binary()), *"pstats profile-3.13.0.prof -s cumulative".split()], "") == said([python, "-c", alone], "")
    for words, methods in (
        (["--strip"], "strip_dirs().print_stats()"),
        (["--callers"], "print_callers()"),
        (["--stats", "fib", "--stats", "2"], "print_stats('fib').print_stats(2)"),
        (["--sort", "cumulative name"], "sort_stats('cumulative', 'name').print_stats()"),
        (["--strip", "--sort=nfl", "--reverse", "--callees", "0.5 1"], "strip_dirs().sort_stats('nfl').reverse_order().print_callees(.5, 1)"),
    ):
        expected = said([python, "-c", f"import pstats; pstats.Stats('cprofile-3.13.0.prof').{methods}"], "")
        assert said([str(binary()), "pstats", "cprofile-3.13.0.prof", *words], "") == expected, words


class Terminal:
    """The shell at a terminal of its own."""

    def __init__(self, *words: str) -> None:
        self.own, other = pty.openpty()
        self.shell = subprocess.Popen([binary(), "pstats", *words], stdin=other, stdout=other, stderr=other, cwd=PROFS, env={**ENVIRONMENT, "TERM": "xterm"})
        os.close(other)
        self.said = ""

    def until(self, words: str) -> str:
        while words not in self.said:
            ready, _, _ = select.select([self.own], [], [], 60)
            assert ready, f"{words!r} does not come: {self.said!r}"
            self.said += os.read(self.own, 65536).decode()
        before, _, self.said = self.said.partition(words)
        return before

    def types(self, keys: str) -> None:
        os.write(self.own, keys.encode())


def test_a_terminal_completes_words_and_calls_back_lines() -> None:
    terminal = Terminal("cprofile-3.13.0.prof")
    terminal.until("% ")
    for keys in ("sor\t tot\t\r", "stats 1\r"):
        terminal.types(keys)
        terminal.until("\n")
    terminal.until("Ordered by: internal time")
    terminal.until("\n\r\n")
    terminal.until("% ")
    # The line before, with another word behind it.
    terminal.types("\x1b[A fib\r")
    terminal.until("due to restriction <1>")
    terminal.until("% ")
    terminal.types("read cprofile-3.15\t\r")
    terminal.until("cprofile-3.15.2.prof% ")
    terminal.types("quit\x03")
    terminal.until("cprofile-3.15.2.prof% ")
    terminal.types("\x04")
    terminal.until("Goodbye.")
    assert terminal.shell.wait(60) == 0
    os.close(terminal.own)


def test_a_profile_of_python_2() -> None:
    """No Python 3 reads its interned strings: the counts are those of the program."""
    listing = said([str(binary()), *"pstats cprofile-2.7.18.prof --sort calls --stats 3".split()], "")
    assert listing.splitlines()[2].startswith("         19954 function calls (46 primitive calls) in 0.0")
    assert "  19913/5 " in listing and "counted.py:8(fibonacci)" in listing


def test_what_is_refused(tmp_path: Path) -> None:
    def refused(*words: str) -> tuple[int, str]:
        done = subprocess.run([binary(), "pstats", *words], capture_output=True, text=True, cwd=tmp_path, stdin=subprocess.DEVNULL, timeout=60)
        return done.returncode, done.stderr

    whole = (PROFS / "cprofile-3.13.0.prof").read_bytes()
    (tmp_path / "cut.prof").write_bytes(whole[:100])
    (tmp_path / "app.prof").write_bytes(whole)
    (tmp_path / "text.prof").write_text("a;b 3\n")
    code, words = refused("cut.prof")
    assert code == 1 and "error: cut.prof cannot be read\n  damaged at byte 9" in words and "hint: " in words
    assert refused("none.prof")[1].startswith("error: cannot open none.prof: no such file or directory\n")
    assert 'not a .prof file: it begins with "a;b 3' in refused("text.prof")[1]
    code, words = refused("app.prof", "--sort", "c")
    assert code == 2 and "`c` is not a key to sort by" in words and "tottime -- internal time" in words
    assert refused("app.prof", "--stats", "1.5")[0] == 2
    assert refused("--stats")[0] == 2
    code, words = refused("app.prof", "--reverse")
    assert code == 2 and "--sort <KEYS>" in words
