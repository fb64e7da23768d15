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


def test_each_change_of_a_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_sources, "ROOT", tmp_path)
    for name in ("web/main.tsx", "web/parts/page.tsx", "web/parts/page.test.ts", "web/model/server/list.ts", "web/style/server/list.css"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("before")
    before = picture_sources.digest("page")
    for name in ("web/parts/page.test.ts", "web/model/server/list.ts", "web/style/server/list.css"):
        (tmp_path / name).write_text("after")
    assert picture_sources.digest("page") == before
    (tmp_path / "web/parts/page.tsx").write_text("after")
    assert picture_sources.digest("page") != before
