"""Each key of `genba top` once, against a file that changes when the test says so: no program runs, and only the screen is waited for."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from multiplexer import Window
from test_top import GOLDEN, TOP, heaviest

SIZES = {"80x24": (80, 24), "200x60": (200, 60)}


@pytest.fixture(params=SIZES)
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    return SIZES[request.param]


def shown(folder: Path, size: tuple[int, int]) -> closing[Window]:
    own = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    return closing(Window(folder, f"{TOP} app.genba", *size, NO_COLOR="1", **own))


@pytest.fixture
def top(tmp_path: Path, size: tuple[int, int]) -> Iterator[Window]:
    (tmp_path / "app.genba").write_bytes(GOLDEN.read_bytes())
    with shown(tmp_path, size) as made:
        page = made.until("ended: signal 15")
        lines = page.splitlines()
        assert [line for line in lines if len(line) > size[0]] == [] and len(lines) <= size[1], page
        yield made


def test_a_frozen_screen_reads_nothing_new(tmp_path: Path, size: tuple[int, int]) -> None:
    """The file has its first block alone until then. A second screen, which is not frozen, tells when there was time to read the others."""
    blocks = GOLDEN.read_bytes()
    second = blocks.index(blocks[:8], 1)
    recording = tmp_path / "app.genba"
    recording.write_bytes(blocks[:second])
    with shown(tmp_path, size) as top, shown(tmp_path, size) as other:
        page = top.until("ticks 7 = sampled 4 ")
        assert "slices.py before" in heaviest(page), page
        other.until("ticks 7 = sampled 4 ")
        top.types("f")
        top.until(" FROZEN ")
        with recording.open("ab") as file:
            file.write(blocks[second:])
        other.until("ticks 12 = sampled 8 ")
        top.types("3")
        page = top.until("slices.py:5 before")
        assert " FROZEN " in page and "ticks 7 = sampled 4 " in page, page
        top.types("Space")
        page = top.until("ticks 12 = sampled 8 ")
        assert "FROZEN" not in page and "outside of Python" in heaviest(page), page


def test_rows_and_their_order(top: Window) -> None:
    rows = (("2", "line", "outside"), ("3", "function", "outside"), ("4", "thread", "thread 4128 pool-1"), ("1", "expression", "outside"))
    for key, kind, first in rows:
        top.types(key)
        page = top.until(lambda page, kind=kind: re.search(rf"  {kind}$", page, re.MULTILINE) is not None)
        assert first in heaviest(page), page
    top.types("r")
    page = top.until("self↑")
    assert "slices.py before" in heaviest(page), page
    top.types("r", "Right")
    page = top.until("total↓")
    assert "outside of Python" in heaviest(page), page
    top.types("Left")
    top.until("self↓")
    top.types("t")
    page = top.until("before (slices.py:5)")
    assert re.search(r"  path$", page, re.MULTILINE) and "libc.so.6+0x90000" in page, page
    top.types("t")
    top.until("expression\n")


def test_a_filter_a_window_of_time_and_help(top: Window) -> None:
    top.types("/")
    top.types_text("sl..es")
    top.until("/sl..es_")
    top.types("Enter")
    page = top.until("rows that match /sl..es/")
    assert "slices.py before" in heaviest(page) and "outside of Python" not in page, page
    top.types("Escape")
    top.until(lambda page: "outside of Python" in page and "rows that match" not in page)
    top.types("w")
    top.until("last 10 s")
    top.types("w")
    top.until("last 60 s")
    top.types("w")
    top.until("since the beginning")
    top.types("?")
    top.until("freeze: nothing new is read until the next f")
    top.types("x")
    top.until("outside of Python")
    top.types("q")
    code, page = top.ends()
    said = "the recording ended (signal 15): app.genba · next: genba report app.genba"
    assert (code, page.strip().splitlines()[-1]) == (0, said), page
