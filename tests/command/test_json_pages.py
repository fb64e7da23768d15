"""Whoever reads `--format json` from a script finds its keys on a page."""

import json
import re
import sys
from typing import Any

import pytest

from looked_at import LOOKS_MAX, started
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


def section(verb: str) -> str:
    return (REPOSITORY / "docs/json.md").read_text().partition(f"## `genba {verb} --format json`\n")[2].partition("\n## ")[0]


def keys(value: Any) -> set[str]:
    """At any depth."""
    if isinstance(value, list):
        return set().union(*map(keys, value))
    return set(value).union(*map(keys, value.values())) if isinstance(value, dict) else set()


# It waits with a descriptor, in a function that has a variable.
WAITS = "import sys\ndef waits(text):\n    print('ready', flush=True)\n    sys.stdin.read()\nwaits('text')"


def test_each_key_of_a_dump_is_on_its_page() -> None:
    """And no other one. A frame has the keys of a recording's frame."""
    (page,) = re.findall(r"```jsonc\n(.*?)```", section("dump"), re.DOTALL)
    with started([sys.executable, "-c", WAITS]) as program:
        for _ in range(LOOKS_MAX):
            dump = program.dump("--locals")
            (thread,) = dump["processes"][0]["threads"]
            if thread["state"] == "in read(2) on a pipe":
                break
    assert keys(dump) == set(re.findall(r'"(\w+)":', page))
    exported = json.loads(genba_said("export", REPOSITORY / "testdata/golden/v3.genba", "--to", "json", "-o", "-"))
    assert set(thread["frames"][0]) - {"locals", "locals_left_out"} == set(exported["frames"][0]) - {"owner"}


def test_each_key_of_ps_is_on_its_page() -> None:
    on_page = {key for cell in re.findall(r"^\| (`.*?`) \|", section("ps"), re.MULTILINE) for key in re.findall(r"`(\w+)`", cell)}
    with started([sys.executable, "-c", WAITS]) as program:
        (row,) = [row for row in json.loads(genba_said("ps", "--format", "json"))["processes"] if row["pid"] == program.pid]
    assert set(row) == on_page
