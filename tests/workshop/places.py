"""Where a program of a test is, with an interpreter that may have a root of its own."""

import os
from pathlib import Path

import pytest

from interpreters import Interpreter
from recording import REPOSITORY, Place, binary


def make_place(python: Interpreter, request: pytest.FixtureRequest, name: str) -> Place:
    if python.root is None:
        outside = request.getfixturevalue("tmp_path_factory").mktemp(name)
        place = Place(python, outside, str(outside), str(binary()), str(REPOSITORY))
        # The folders of the workers of one run lie side by side: what one of them has found out about an interpreter serves the others.
        place.cache = "../../cache" if "PYTEST_XDIST_WORKER" in os.environ else place.cache
        return place
    session: Path = request.getfixturevalue("sid_session")
    number = sum(1 for _ in session.glob(f"{name}-*"))
    outside = session / f"{name}-{number}"
    outside.mkdir()
    inside = "/" + str(session.relative_to(python.root))
    return Place(python, outside, f"{inside}/{outside.name}", f"{inside}/genba", inside)
