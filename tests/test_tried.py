"""The list of interpreters that were tried (docs/limits.md) names those that the tests run on: each of them, and no other."""

from collections.abc import Iterable

import pytest

import interpreters
from interpreters import IN_SID, STANDALONE, SUPPORTED, Interpreter, Missing
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
    assert (python.version, builder(python.name)) in tried(), "add it to the list of docs/limits.md"


def kind(version: str, build: str) -> tuple[str, str]:
    """Of a release: one row of the matrix."""
    return version.rpartition(".")[0], build


def matrix(names: Iterable[str]) -> list[tuple[str, str]]:
    return sorted((name.partition("-")[0], builder(name)) for name in names)


def test_the_list_has_a_row_for_each_build_of_the_matrix() -> None:
    assert sorted(kind(*row) for row in tried()) == matrix(SUPPORTED)


def test_each_row_of_the_list_is_run() -> None:
    """A release that gave way to a newer one leaves the list."""
    missing = [one.name for one in interpreters.all_supported() if isinstance(one, Missing)]
    run = [(one.version, builder(one.name)) for one in interpreters.found()]
    left = [row for row in tried() if row not in run and kind(*row) not in matrix(missing)]
    assert left == [], "in the list of docs/limits.md, and no test runs on it"
    if missing:
        pytest.skip(f"not on this machine: {', '.join(missing)}")
