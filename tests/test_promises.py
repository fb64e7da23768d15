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

    page = measured.page(
        [
            line("tests/test_b.py::test_x[3.15]", "3.15.2", "share", 0.25, 1.0),
            line("tests/test_b.py::test_x[3.11]", "3.11.7", "share", 12, 1.0),
            line("tests/test_b.py::test_y[3.11]", "3.11.7", "other", 1, 2.0),
            line("tests/test_b.py::test_y[3.15]", "3.15.2", "other", 1, 3.0),
            line("make bench", None, "cost", "none", None),
        ],
        "a machine",
    )
    assert "## make bench\n\n| figure | all | bound |\n|---|---|---|\n| cost | none % |  |\n" in page
    assert "| share | 12 % | 0.25 % | 1 |\n" in page
    assert "| other | 1 % (2) | 1 % (3) | in parentheses |\n" in page
    assert page.index("a machine") < page.index("## make bench") < page.index("## tests/test_b.py")
