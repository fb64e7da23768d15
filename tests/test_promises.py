"""The table of promises names tests that exist, and the page of figures leaves no figure out."""

import re
import sys

from recording import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "make"))
import measured  # noqa: E402

PROMISES = REPOSITORY / "docs/promises.md"


def test_every_test_that_is_named_exists() -> None:
    named = re.findall(r"\]\(([^)#]+)\)", PROMISES.read_text())
    assert len(named) > 20
    assert [one for one in named if not (PROMISES.parent / one).exists()] == []


def test_a_page_of_figures() -> None:
    def line(test: str, python: str | None, name: str, value: float | str, bound: float | None) -> dict:
        return {"test": test, "python": python, "figure": name, "value": value, "unit": "%", "bound": bound, "soak": True}

    sections: dict = {}
    measured.put(
        [
            line("tests/test_b.py::test_x[3.15]", "3.15.2", "share", 0.25, 1.0),
            line("tests/test_b.py::test_x[3.11]", "3.11.7", "share", 12, 1.0),
            line("tests/test_b.py::test_y[3.11]", "3.11.7", "other", 1, 2.0),
            line("tests/test_b.py::test_y[3.15]", "3.15.2", "other", 1, 3.0),
            line("make bench", None, "cost", "none", None),
        ],
        sections,
    )
    page = measured.page(sections, "a machine")
    assert "## make bench\n\n| figure | all | bound |\n|---|---|---|\n| cost | none % *long* |  |\n" in page
    assert "| share | 12 % *long* | 0.25 % *long* | 1 |\n" in page
    assert "| other | 1 % *long* (2) | 1 % *long* (3) | in parentheses |\n" in page
    # What a run does not measure stands as it was.
    again = measured.rows_of(page)
    assert again == sections
    measured.put([line("tests/test_b.py::test_x[3.15]", "3.15.2", "share", 0.5, 1.0)], again)
    assert "| share | 12 % *long* | 0.5 % *long* | 1 |\n" in measured.page(again, "a machine")
    assert page.index("a machine") < page.index("## make bench") < page.index("## tests/test_b.py")
