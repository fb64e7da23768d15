"""The table of docs/limits.md: the releases and builds of CPython that the suite has run on.

Owns: its reading, and which rows the interpreters of the tests are. Bounds that were measured on builds hold for the builds of this table: of a newer
one, which Debian's sid brings at any time, a test reports what it measures, and fails nothing.
"""

import re

from interpreters import IN_SID, STANDALONE, Interpreter
from recording import REPOSITORY

PYENV, SID, PYTHON_BUILD_STANDALONE = "pyenv", "Debian sid", "python-build-standalone"


def builder(name: str) -> str:
    return PYTHON_BUILD_STANDALONE if name in STANDALONE else SID if name in IN_SID else PYENV


def tried() -> list[tuple[str, str]]:
    """Release and builder of each row."""
    _, _, table = (REPOSITORY / "docs/limits.md").read_text().partition("| CPython | build |\n|---|---|\n")
    rows = table.partition("\n\n")[0].splitlines()
    return [(version, build.partition(":")[0]) for version, build in (row.strip("| ").split(" | ") for row in rows)]


def is_tried(python: Interpreter) -> bool:
    return (python.version, builder(python.name)) in tried()


def is_newer(python: Interpreter) -> bool:
    """Than each release of its minor version that is in the table, of the same builder."""
    number = lambda version: tuple(map(int, re.findall(r"\d+", version)))
    those = [version for version, build in tried() if build == builder(python.name) and version.startswith(f"{python.minor}.")]
    return all(number(python.version) > number(version) for version in those)
