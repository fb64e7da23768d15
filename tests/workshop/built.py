"""Fixtures that build the C parts of the test programs, once a session, with the machine's own compiler."""

import ctypes
import subprocess
from pathlib import Path

import pytest

import interpreters
from recording import REPOSITORY

PROGRAMS = REPOSITORY / "tests/programs"


@pytest.fixture(scope="session")
def spin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("spin") / "spin.so"
    source = PROGRAMS / "spin.c"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", str(source), "-o", str(built)], check=True)
    assert ctypes.CDLL(str(built)).errno_changes(ctypes.c_longlong(1000)) == 0
    return built


@pytest.fixture(scope="session")
def masks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("masks") / "masks.so"
    source = PROGRAMS / "masks.c"
    subprocess.run(["cc", "-O1", "-w", "-shared", "-fPIC", "-pthread", str(source), "-o", str(built)], check=True)
    return built


@pytest.fixture(scope="session")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("late") / "late.so"
    source = PROGRAMS / "late.c"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", str(source), "-o", str(built), "-ldl"], check=True)
    return built


@pytest.fixture(scope="session")
def bounce(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension, built once against the stable ABI of the oldest CPython with headers here."""
    header = next(
        (folder for one in interpreters.found() for folder in Path(one.path).parents[1].glob("include/python3.*/")
         if one.root is None and (folder / "Python.h").exists()),
        None,
    )
    if header is None:
        pytest.skip("no CPython headers to build the extension with (pyenv install 3.11)")
    built = tmp_path_factory.mktemp("bounce") / "bounce.abi3.so"
    source = PROGRAMS / "bounce.c"
    subprocess.run(["cc", "-O2", "-g", "-shared", "-fPIC", f"-I{header}", str(source), "-o", str(built)], check=True)
    return built
