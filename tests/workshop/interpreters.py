"""The CPythons the tests run on: pyenv's 3.11 to 3.13, 3.14 and 3.15 of a Debian sid folder, entered with chroot, and 3.11 and
3.14 of python-build-standalone, which `uv python install` brings (3.14 with tail calls between instructions).

Owns: where they are looked for, and in which words a missing one is skipped. Settings: GENBA_PYTHONS (executables,
separated by colons, instead of pyenv's), GENBA_SID (the folder of the Debian sid), GENBA_STANDALONE (the folder of
python-build-standalone).
"""

import functools
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

MINORS = ("3.11", "3.12", "3.13", "3.14", "3.15")
IN_SID = ("3.14", "3.15")
STANDALONE = ("3.11-standalone", "3.14-standalone")
# Each by its name: the minor version, and whose build it is where two have the same.
SUPPORTED = (*MINORS, *STANDALONE)
# In `make test` each one that is missing must be explained by make/prepare.sh, in these words.
NOT_HERE = Path(__file__).resolve().parents[2] / "build/not-here"
CHROOT = shutil.which("chroot") or "/usr/sbin/chroot"
FOUND_MIN = 4


@dataclass(frozen=True)
class Interpreter:
    """`path` is as the program sees it: inside `root` where there is one. `name` is one of SUPPORTED."""

    name: str
    minor: str
    version: str
    path: str
    root: Path | None

    @property
    def minor_number(self) -> int:
        return int(self.minor.split(".")[1])

    @property
    def has_tail_calls(self) -> bool:
        """Each instruction is a function of its own (`--with-tail-call-interp`)."""
        return self.is_standalone and self.minor_number >= 14

    @property
    def lists_lock_waits(self) -> bool:
        """It keeps a list of the threads that wait for a `threading.Lock` or a `threading.RLock`; 3.13.0 does so for a SimpleQueue only."""
        return self.minor_number >= 14

    @property
    def is_stripped(self) -> bool:
        """Its own functions have no names in a symbol table: Debian's builds, and python-build-standalone's from 3.14 on."""
        return self.root is not None or self.has_tail_calls

    @property
    def is_standalone(self) -> bool:
        return self.name in STANDALONE


@dataclass(frozen=True)
class Missing:
    name: str
    why: str


def sid_folder() -> Path:
    return Path(os.environ.get("GENBA_SID") or Path.home() / ".cache/genba/sid")


def standalone_folder() -> Path:
    return Path(os.environ.get("GENBA_STANDALONE") or Path.home() / ".cache/genba/standalone")


def pyenv_versions() -> Path:
    return Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"


@functools.cache
def all_supported() -> tuple[Interpreter | Missing, ...]:
    known = (_in_sid(minor) if minor in IN_SID else _in_pyenv(minor) for minor in MINORS)
    return (*known, *map(_standalone, STANDALONE))


def found() -> list[Interpreter]:
    return [one for one in all_supported() if isinstance(one, Interpreter)]


def found_enough() -> bool:
    """In `make test`: all that make/prepare.sh could get. Elsewhere: most of them."""
    if os.environ.get("GENBA_GATE") != "1":
        return len(found()) >= FOUND_MIN
    words = NOT_HERE.read_text() if NOT_HERE.exists() else ""
    missing = [one.name for one in all_supported() if isinstance(one, Missing)]
    return all((name in IN_SID and "Debian sid" in words) or (name in STANDALONE and "python-build-standalone" in words) for name in missing)


def from_pyenv() -> list[Interpreter]:
    """The oldest first, for a test that no chroot may stand around. Without any the test is skipped."""
    those = [one for one in found() if one.root is None and not one.is_standalone]
    if not those:
        pytest.skip("no CPython in pyenv")
    return those


def _in_pyenv(minor: str) -> Interpreter | Missing:
    named = os.environ.get("GENBA_PYTHONS")
    candidates = [Path(part) for part in named.split(":")] if named else pyenv_candidates(minor)
    for candidate in candidates:
        version = _version([str(candidate)])
        if version and version.startswith(minor + "."):
            return Interpreter(minor, minor, version, str(candidate), None)
    return Missing(minor, f"no CPython {minor} in pyenv (pyenv install {minor}) and none named by GENBA_PYTHONS")


def pyenv_candidates(minor: str) -> list[Path]:
    """Newest patch release first."""
    folders = pyenv_versions().glob(f"{minor}.*/bin/python3")
    by_number = lambda path: [int(part) if part.isdigit() else 0 for part in path.parts[-3].split(".")]
    return sorted(folders, key=by_number, reverse=True)


def _in_sid(minor: str) -> Interpreter | Missing:
    root = sid_folder()
    path = f"/usr/bin/python{minor}"
    if not (root / path[1:]).exists():
        return Missing(minor, f"no python{minor} in the Debian sid folder {root} (make prepare, as root)")
    if os.geteuid() != 0:
        return Missing(minor, f"python{minor} is in {root}, which only root can enter")
    _mount(root)
    version = _version([CHROOT, str(root), path])
    if version is None:
        return Missing(minor, f"python{minor} in {root} does not start")
    return Interpreter(minor, minor, version, path, root)


def _standalone(name: str) -> Interpreter | Missing:
    minor, _, _ = name.partition("-")
    path = standalone_folder() / minor / "bin/python3"
    version = _version([str(path)])
    if version is None or not version.startswith(minor + "."):
        return Missing(name, f"no CPython {minor} of python-build-standalone in {standalone_folder()} (make prepare)")
    return Interpreter(name, minor, version, str(path), None)


def _mount(root: Path) -> None:
    """/proc and the devices that a Python needs; what is there already stays."""
    if not (root / "proc/self").exists():
        subprocess.run(["mount", "-t", "proc", "proc", str(root / "proc")], check=True)
    if not (root / "dev/null").is_char_device():
        subprocess.run(["mount", "--bind", "/dev", str(root / "dev")], check=True)
    (root / "dev/shm").mkdir(mode=0o1777, exist_ok=True)


def _version(command: list[str]) -> str | None:
    code = "import sys, platform; print(platform.python_implementation(), platform.python_version())"
    try:
        done = subprocess.run([*command, "-c", code], capture_output=True, text=True, timeout=60)
    except OSError:
        return None
    name, _, version = done.stdout.strip().partition(" ")
    return version if done.returncode == 0 and name == "CPython" else None
