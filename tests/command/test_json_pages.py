"""Whoever reads `--format json` from a script finds its keys on a page."""

import pytest

from recording import REPOSITORY, genba_said
from test_shells import NESTED, verbs

PAGES = "".join((REPOSITORY / page).read_text() for page in ("docs/json.md", "docs/reading/json.md"))


def test_each_json_is_on_a_page() -> None:
    written = [verb for verb in [*((verb,) for verb in verbs()), *NESTED] if "--format" in genba_said(*verb, "--help") and "json" in genba_said(*verb, "--help")]
    assert ("report",) in written and ("gc", "cycles") in written
    missing = [" ".join(verb) for verb in written if f"{' '.join(verb)} --format json`" not in PAGES]
    assert not missing, missing


def test_a_section_that_is_gone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PAGES", PAGES.replace("`genba ps --format json`", ""))
    with pytest.raises(AssertionError, match="ps"):
        test_each_json_is_on_a_page()
