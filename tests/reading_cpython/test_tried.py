"""The list of interpreters that were tried (docs/limits.md) names those that the tests run on. A newer release than that, which Debian's sid or
pyenv may bring at any time, is named as untried and fails nothing here: the other tests try it."""

from collections.abc import Iterable

import pytest

from interpreters import IN_SID, STANDALONE, SUPPORTED, Interpreter
from recording import REPOSITORY, Workshop

PYENV, SID, PYTHON_BUILD_STANDALONE = "pyenv", "Debian sid", "python-build-standalone"


def builder(name: str) -> str:
    return PYTHON_BUILD_STANDALONE if name in STANDALONE else SID if name in IN_SID else PYENV


def tried() -> list[tuple[str, str]]:
    _, _, table = (REPOSITORY / "docs/limits.md").read_text().partition("| CPython | build |\n|---|---|\n")
    rows = table.partition("\n\n")[0].splitlines()
    return [(version, build.partition(":")[0]) for version, build in (row.strip("| ").split(" | ") for row in rows)]


def test_this_interpreter_is_in_the_list(workshop: Workshop, python: Interpreter) -> None:
    run = workshop.run_target([python.path, "-c", "sum(range(100_000))"])
    (process,) = run.profile()["processes"]
    assert process["python"] == python.version
    if (python.version, builder(python.name)) not in tried():
        pytest.skip(f"untried: CPython {python.version} of {builder(python.name)} is not in the list of docs/limits.md")


def kind(version: str, build: str) -> tuple[str, str]:
    """Of a release: one row of the matrix."""
    return version.rpartition(".")[0], build


def matrix(names: Iterable[str]) -> list[tuple[str, str]]:
    return sorted((name.partition("-")[0], builder(name)) for name in names)


def test_the_list_has_a_row_for_each_build_of_the_matrix() -> None:
    assert sorted(kind(*row) for row in tried()) == matrix(SUPPORTED)

