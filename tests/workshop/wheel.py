"""The one wheel that `make wheel` built."""

from pathlib import Path

import pytest

from recording import REPOSITORY


@pytest.fixture(scope="session")
def wheel() -> Path:
    found = sorted((REPOSITORY / "build/wheel").glob("*.whl"))
    assert len(found) == 1, f"expected one wheel in build/wheel, found {found}: make wheel"
    return found[0]
