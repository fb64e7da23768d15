"""The reader of message files in the casebook: both grammars, and words for a broken file."""

import subprocess
import sys
from pathlib import Path

import pytest

from recording import REPOSITORY

CASE = REPOSITORY / "casebook/error-numbers"
# By hand, from made.txt.
NUMBERS = {"ER_FIRST": 1, "OBSOLETE_ER_SECOND": 2, "WARN_SEVENTH": 7, "ER_LATER": 3000, "ER_LAST": 3001}


def ran(*argv: str | Path, program: str = "fixed.py") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-B", CASE / program, *argv], capture_output=True, text=True)


@pytest.mark.parametrize("program", ["slow.py", "fixed.py"])
def test_numbers_of_the_second_grammar(program: str) -> None:
    done = ran(CASE / "made.txt", "--python", program=program)
    constants: dict[str, int] = {}
    exec(done.stdout, {}, constants)
    assert (constants, done.stderr) == (NUMBERS, "")
    assert ran(CASE / "made.txt", "--go", program=program).stdout.split("(\n")[1] == "".join(f"\t{name} = {number}\n" for name, number in NUMBERS.items()) + ")\n"


def test_counts_by_language() -> None:
    lines = ran(CASE / "made.txt").stdout.splitlines()
    assert lines[0] == "5 messages, numbers 1 to 3001"
    assert [line.split() for line in lines[1:]] == [["eng", "5"], ["ger", "1"], ["swe", "1"]]


def test_a_header_with_another_number(tmp_path: Path) -> None:
    header = tmp_path / "mysqld_error.h"
    header.write_text("#define ER_ERROR_FIRST 1\n#define ER_FIRST 1\n#define WARN_SEVENTH 8\n#define ER_LATER 3000\n#define ER_LAST 3001\n")
    done = ran(CASE / "made.txt", "--check", header)
    assert (done.returncode, done.stdout) == (1, "WARN_SEVENTH: 7, and 8 in the header\n3 numbers are those of the header, 1 differ\n")


BEGIN = 'languages english=eng, german=ger;\nstart-error-number 1000\nER_NO\n        eng "NO"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ER_NO\n", "1:1: start-error-number is expected before the first message"),
        (BEGIN + "ER_NO\n", "5:1: another name is expected: ER_NO is in line 3, too"),
        (BEGIN + "    eng\n", '5:5: a language and a text in quotation marks are expected, such as eng "NO"'),
        (BEGIN + '    eng "NO"\n', "5:5: another language is expected: ER_NO has eng already"),
        (BEGIN + "start-error-number 7\n", "5:20: a number from 1001 on is expected"),
        (BEGIN + "reserved-error-section 1001 1002\nER_MORE\n", "6:1: start-error-number is expected: 1001 is reserved"),
        (BEGIN + "ERROR\n", "5:1: a name such as ER_NO, a text (indented), or a section such as start-error-number is expected"),
        ('    eng "NO"\n', "1:5: a name is expected before its texts"),
        ("languages english;\n", "1:1: languages are expected as LONG=SHORT, separated by commas"),
    ],
)
@pytest.mark.parametrize("program", ["slow.py", "fixed.py"])
def test_a_broken_file(tmp_path: Path, program: str, text: str, said: str) -> None:
    path = tmp_path / "messages.txt"
    path.write_text(text)
    done = ran(path, program=program)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"error: {path}:{said}\n")


def test_what_was_hardly_meant(tmp_path: Path) -> None:
    path = tmp_path / "messages.txt"
    path.write_text(BEGIN + '        fin "EI"\n        ger "NEIN\n')
    done = ran(path)
    assert done.returncode == 0
    assert done.stderr == f"remark: {path}:5:9: fin is none of the languages\nremark: {path}:6:9: a quotation mark is expected at the end\n"
