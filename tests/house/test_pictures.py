"""The pictures in docs show the pages as they are: `make pictures` keeps a digest of the sources of each page that it took a picture of."""

import importlib.util
import json
from pathlib import Path

import pytest

from recording import REPOSITORY

SPEC = importlib.util.spec_from_file_location("picture_sources", REPOSITORY / "make/picture_sources.py")
picture_sources = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(picture_sources)
KEPT = json.loads((REPOSITORY / picture_sources.FILE).read_text())


@pytest.mark.parametrize("picture", KEPT)
def test_a_picture_is_not_older_than_its_page(picture: str) -> None:
    assert picture_sources.digest(picture) == KEPT[picture], f"docs/pictures/{picture}*.png shows another page: make pictures"
    assert list((REPOSITORY / "docs/pictures").glob(f"{picture}*.png"))


def test_each_page_that_is_pictured_is_known() -> None:
    assert {"page", "bench"} <= set(KEPT) <= set(picture_sources.SOURCES)
    pictures = {path.stem.partition("-")[0] for path in (REPOSITORY / "docs/pictures").glob("*.png")}
    assert pictures == set(picture_sources.SOURCES)


README = """A profiler.
```console
$ genba run slow.py
CPython 3.13.0 · 1.20 s wall · 1 process, 1 thread ·
  sampled every 1 ms, later 2 ms (budget 2 %)
ticks 785 = sampled 782 + dropped 3 (late 3) + refused 0 · CPU covered 99.6 %
one place: 85.2 % of 785 ms CPU is slow.py:9 before   b[i:]

 85.2 %   670 ms  slow.py:9 before    n += len(b[i:][:2])
```
"""


def test_the_words_of_the_verdict_are_in_the_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_sources, "ROOT", tmp_path)
    for name in ("web/main.tsx", "web/shell.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")

    def digest(readme: str) -> str:
        (tmp_path / "README.md").write_text(readme)
        return picture_sources.digest("page")

    assert picture_sources.verdict_words(README) == ["one place: # % of # CPU is slow#py:# before   b[i:]"]
    before = digest(README)
    # Another run, and other words around.
    assert digest(README.replace("85.2", "91.0").replace("785 ms", "1.02 s").replace("A profiler", "The profiler")) == before
    assert digest(README.replace(" CPU is ", " CPU goes to ")) != before
    assert picture_sources.verdict_words((REPOSITORY / "README.md").read_text()), "README's screen has no verdict"


def test_each_change_of_a_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_sources, "ROOT", tmp_path)
    (tmp_path / "README.md").write_text(README)
    for name in ("web/main.tsx", "web/parts/page.tsx", "web/parts/page.test.ts", "web/model/server/list.ts", "web/style/server/list.css"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("before")
    before = picture_sources.digest("page")
    for name in ("web/parts/page.test.ts", "web/model/server/list.ts", "web/style/server/list.css"):
        (tmp_path / name).write_text("after")
    assert picture_sources.digest("page") == before
    (tmp_path / "web/parts/page.tsx").write_text("after")
    assert picture_sources.digest("page") != before
