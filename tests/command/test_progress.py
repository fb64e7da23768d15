"""What a terminal shows while genba works for longer than half a second, and that a pipe never sees it.

The work is made long from outside: opening the recording waits for a lease that the test holds, and the end of a run waits
because strace delays its opening of one file.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from leases import held
from recording import Workshop, binary
from terminal import until, until_the_end_of

GOLDEN = Path(__file__).resolve().parents[2] / "testdata/golden/v2.genba"
# Cursor saved, words, rest of the line deleted, cursor back; at the end the rest of the line deleted once more.
DRAWN = re.compile(rb"(?:\x1b7([^\x1b]*)\x1b\[K\x1b8)+\x1b\[K")
VERBS = {
    "report": ["--color", "never"],
    "tree": ["--color", "never"],
    "check": [],
    "html": ["-o", "page.html"],
    "export": ["--to", "json", "-o", "tables.json"],
}


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "xterm", **more}


@pytest.mark.parametrize("verb", VERBS)
def test_a_reader_says_what_takes_long(verb: str, tmp_path: Path) -> None:
    recording = tmp_path / "app.genba"
    shutil.copy(GOLDEN, recording)
    command = [str(binary()), verb, str(recording), *VERBS[verb]]
    screen, terminal = os.openpty()
    with held(recording):
        reader = subprocess.Popen(
            command, cwd=tmp_path, env=environment(tmp_path), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=terminal
        )
        seen = until(screen, b"reading the recording")
    try:
        seen += until_the_end_of(reader, screen, terminal)
        stdout, _ = reader.communicate()
        assert reader.returncode == 0, seen
    finally:
        reader.kill()
    drawn = DRAWN.findall(seen)
    assert drawn and b"\x1b" not in DRAWN.sub(b"", seen), seen
    # The same into pipes: what is left of the terminal is that.
    plain = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, timeout=60)
    assert DRAWN.sub(b"", seen).replace(b"\r\n", b"\n") == plain.stderr
    assert stdout == plain.stdout


@pytest.mark.parametrize("how", ["a pipe", "a dumb terminal"])
def test_nothing_where_nobody_could_take_it_back(how: str, tmp_path: Path) -> None:
    recording, clock_recording = tmp_path / "app.genba", tmp_path / "clock.genba"
    for file in (recording, clock_recording):
        shutil.copy(GOLDEN, file)
    screen, terminal = os.openpty() if how == "a dumb terminal" else os.pipe()
    command = [str(binary()), "check", str(recording)]
    with held(recording):
        reader = subprocess.Popen(
            command, env=environment(tmp_path, TERM="dumb" if how == "a dumb terminal" else "xterm"), stdout=-1, stderr=terminal
        )
        # Longer than genba is silent by itself: another one, started later, has shown its seconds.
        other, other_terminal = os.openpty()
        with held(clock_recording):
            clock = subprocess.Popen(
                [str(binary()), "check", str(clock_recording)], env=environment(tmp_path), stdout=-1, stderr=other_terminal
            )
            os.close(other_terminal)
            until(other, b" 1 s")
        clock.communicate(timeout=60)
        os.close(other)
    seen = until_the_end_of(reader, screen, terminal)
    reader.communicate()
    assert (reader.returncode, seen) == (0, b"")


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace: make prepare")
def test_the_end_of_a_run(workshop: Workshop) -> None:
    if workshop.interpreter.root is not None:
        pytest.skip("strace lies outside of the Debian sid")
    # The program ends no line: what it wrote must still be there.
    program = workshop.write("app.py", "import sys\nfor _ in range(300_000): sum((1, 2))\nsys.stderr.write('42')\n")
    # genba itself, not the program, waits two seconds whenever it opens the source.
    slow = ["strace", "-o", "trace", "-P", program, "-e", "trace=openat", "-e", "inject=openat:delay_enter=2000000"]
    name = "slow.genba"
    command = [*slow, str(binary()), "run", "--color", "never", "-o", name, workshop.interpreter.path, program]
    screen, terminal = os.openpty()
    place = workshop.place
    run = subprocess.Popen(
        command, cwd=place.outside, env={**place.environment({}), "TERM": "xterm"}, stdout=subprocess.PIPE, stderr=terminal, text=True
    )
    page = until_the_end_of(run, screen, terminal)
    workshop.finish(run, name)
    assert run.returncode == 0, page
    assert any(words.startswith(b"naming C functions") for words in DRAWN.findall(page)), page
    left = DRAWN.sub(b"", page)
    assert left.startswith(b"42") and b"\x1b" not in left and b"naming" not in left, page
