"""What the test programs need compiled: packages of build/compiled (make/prepare.sh), a C++ library, a Cython module.

Owns: where they are for each interpreter, and the words with which a test is skipped when one cannot be had.
Never: downloads anything.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import interpreters
from interpreters import Interpreter
from recording import REPOSITORY, Workshop

COMPILED = REPOSITORY / "build/compiled"
PROGRAMS = REPOSITORY / "tests/programs"


def package_folder(workshop: Workshop, name: str) -> str:
    """The folder, as the program sees it, from which it can import `name`."""
    python = workshop.interpreter
    folder = COMPILED / python.minor
    if not (folder / name).exists():
        pytest.skip(f"no {name} for CPython {python.minor} in build/compiled (make prepare)")
    if python.root is None:
        return str(folder)
    inside = workshop.place.outside / "packages"
    shutil.copytree(folder, inside, copy_function=link_or_copy)
    return f"{workshop.place.inside}/packages"


def link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@pytest.fixture(scope="session")
def throws(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("c++") is None:
        pytest.skip("no C++ compiler (make prepare, as root)")
    built = tmp_path_factory.mktemp("throws") / "throws.so"
    # Its own C++ library: the Debian sid has none.
    command = ["c++", "-O1", "-g", "-shared", "-fPIC", "-static-libstdc++", "-static-libgcc", str(PROGRAMS / "throws.cpp")]
    subprocess.run([*command, "-o", str(built)], check=True)
    return built


@pytest.fixture(scope="session")
def cython_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What Cython makes of cythonized.pyx: the same C for every interpreter."""
    cython = COMPILED / "cython"
    if not (cython / "Cython").exists():
        pytest.skip("no Cython in build/compiled (make prepare)")
    source = tmp_path_factory.mktemp("cython") / "cythonized.c"
    tool = [str(REPOSITORY / "build/tools/bin/python"), "-m", "cython", "-3", str(PROGRAMS / "cythonized.pyx")]
    subprocess.run([*tool, "-o", str(source)], check=True, env={**os.environ, "PYTHONPATH": str(cython)})
    return source


@pytest.fixture(scope="session")
def cythonized(python: Interpreter, cython_source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`cythonized.so` for this interpreter, with whose headers it is built."""
    headers = header_flags(python)
    if headers is None:
        pytest.skip(f"no headers of CPython {python.minor} (make prepare)")
    built = tmp_path_factory.mktemp("cython") / "cythonized.so"
    subprocess.run(["cc", "-O2", "-g", "-shared", "-fPIC", *headers, str(cython_source), "-o", str(built)], check=True)
    return built


def header_flags(python: Interpreter) -> list[str] | None:
    """Headers of this minor version: its own, else those of another build, since all builds of one have the same ABI."""
    others = (one for one in interpreters.found() if one.minor == python.minor and one != python)
    return next((flags for one in (python, *others) if (flags := own_header_flags(one))), None)


def own_header_flags(python: Interpreter) -> list[str] | None:
    name = f"include/python{python.minor}"
    if python.root is None:
        folder = Path(python.path).parents[1] / name
        flags = [f"-I{folder}"]
    else:
        folder = python.root / "usr" / name
        # Behind the machine's own: Debian's headers include one by its architecture's folder.
        flags = [f"-I{folder}", "-idirafter", str(python.root / "usr/include")]
    return flags if (folder / "Python.h").exists() else None
