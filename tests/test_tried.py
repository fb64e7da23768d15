"""The list of interpreters that were tried (docs/limits.md) names those that the tests run on."""

import pytest

from interpreters import Interpreter
from recording import REPOSITORY, Workshop

BUILDERS = {"standalone": "python-build-standalone", "chroot": "Debian sid", "here": "pyenv"}


def builder(python: Interpreter) -> str:
    return BUILDERS["standalone" if python.is_standalone else "chroot" if python.root else "here"]


def tried() -> list[tuple[str, str]]:
    _, _, table = (REPOSITORY / "docs/limits.md").read_text().partition("| CPython | build |\n|---|---|\n")
    rows = table.partition("\n\n")[0].splitlines()
    return [(version, build.partition(":")[0]) for version, build in (row.strip("| ").split(" | ") for row in rows)]


def test_this_interpreter_is_in_the_list(workshop: Workshop, python: Interpreter) -> None:
    run = workshop.run_target([python.path, "-c", "sum(range(100_000))"])
    (process,) = run.profile()["processes"]
    assert process["python"] == python.version
    if (python.version, builder(python)) not in tried():
        pytest.skip(f"untried: CPython {python.version} of {builder(python)} is not in the list of docs/limits.md")
