"""The tables of docs/reading/diff.md, made of what the laboratory prints."""

import sys
from pathlib import Path

import pytest

from recording import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "make"))
import laboratory  # noqa: E402

# Those of several tests in turns; the first one of a test is behind its name.
PRINTED = """
running 5 tests
test laboratory::laboratory_of_equal_programs ... | calls of 8 samples, --focus | 1 + 1 | 3 of 400 |
| calls of 1 sample, one side with a sample of 20 | 1 + 1 | 2 of 400 |
| calls of 8 samples | few: 5 % | +5 % | 1 of 100 | 2 of 100 | 30 of 100 |
| calls of 60 samples, 26 calls | 1 + 1 | 16 of 400 |
| calls of 8 samples, --focus | 3 + 3 | 0 of 400 |
| calls of 8 samples | few: 5 % | +100 % | 4 of 100 | 5 of 100 | 100 of 100 |
| calls of 8 samples, no clocks | 1 + 5 | 7 of 400 |
| calls of 8 samples | as many recordings: 49 of 50 | as long: 21 of 22 |
test laboratory::laboratory_of_advice ... ok
"""
MADE = """Before.

<!-- `make laboratory UPDATE=1` -->

| equal programs, claims of 400 | 1 + 1 | 1 + 5 | 3 + 3 |
|---|---|---|---|
| calls of 8 samples, `--focus` | 3 |  | 0 |
| calls of 8 samples, no clocks |  | 7 |  |
| calls of 1 sample, one side with a sample of 20 | 2 |  |  |
| calls of 60 samples, 26 calls | 16 |  |  |

{slower}

| slower function, found of 100 | its share | +5 % | +10 % | +30 % | +100 % |
|---|---|---|---|---|---|
| calls of 8 samples | 5 % | 1 · 2 · 30 |  |  | 4 · 5 · 100 |

{advised}

| 5 % slower, found | as many recordings | as many longer ones |
|---|---|---|
| calls of 8 samples | 49 of 50 | 21 of 22 |

<!-- end of laboratory -->

After.
"""


def test_the_page_has_what_was_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, printed = tmp_path / "diff.md", tmp_path / "laboratory.log"
    page.write_text(f"Before.\n\n{laboratory.BEGIN}\n\n| old | 1 |\n\n{laboratory.END}\n\nAfter.\n")
    printed.write_text(PRINTED)
    monkeypatch.setattr(laboratory, "PAGE", page)
    monkeypatch.setattr(sys, "argv", ["laboratory.py", str(printed)])
    made = MADE.format(slower=laboratory.SLOWER, advised=laboratory.ADVISED)
    assert (laboratory.main(), page.read_text()) == (0, made)
    # Once more: the same.
    assert (laboratory.main(), page.read_text()) == (0, made)
    printed.write_text("\n".join(line for line in PRINTED.splitlines() if "as long" not in line))
    with pytest.raises(SystemExit, match="0 of the advice"):
        laboratory.main()
    assert page.read_text() == made


def test_the_page_has_its_marks() -> None:
    text = laboratory.PAGE.read_text()
    assert (text.count(laboratory.BEGIN), text.count(laboratory.END)) == (1, 1)
