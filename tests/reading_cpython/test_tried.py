"""The list of interpreters that were tried (docs/limits.md) names those that the tests run on. A newer release than that, which Debian's sid or
pyenv may bring at any time, is named as untried and fails nothing here: the other tests try it. What the repository itself chooses, and an older
release of pyenv's, must be in the list."""

from collections.abc import Iterable

import pytest

from interpreters import SUPPORTED, Interpreter
from recording import Workshop
from tried import PYTHON_BUILD_STANDALONE, SID, builder, is_newer, is_tried, tried


def test_this_interpreter_is_in_the_list(workshop: Workshop, python: Interpreter) -> None:
    run = workshop.run_target([python.path, "-c", "sum(range(100_000))"])
    (process,) = run.profile()["processes"]
    assert process["python"] == python.version
    if is_tried(python):
        return
    untried = f"untried: CPython {python.version} of {builder(python.name)} is not in the list of docs/limits.md"
    # make/prepare.sh names the release of python-build-standalone; a sid that was kept may also be older than the list.
    moves = builder(python.name) != PYTHON_BUILD_STANDALONE and (is_newer(python) or builder(python.name) == SID)
    assert moves, untried
    pytest.skip(untried)


def kind(version: str, build: str) -> tuple[str, str]:
    """Of a release: one row of the matrix."""
    return version.rpartition(".")[0], build


def matrix(names: Iterable[str]) -> list[tuple[str, str]]:
    return sorted((name.partition("-")[0], builder(name)) for name in names)


def test_the_list_has_a_row_for_each_build_of_the_matrix() -> None:
    assert sorted(kind(*row) for row in tried()) == matrix(SUPPORTED)
