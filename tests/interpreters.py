"""The CPythons the tests run on: pyenv's 3.11 to 3.13, and 3.14 and 3.15 of a Debian sid folder, entered with chroot.

Owns: where they are looked for, and in which words a missing one is skipped. Settings: GENBA_PYTHONS (executables,
separated by colons, instead of pyenv's), GENBA_SID (the folder of the Debian sid).
"""

import functools
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

SUPPORTED = ("3.11", "3.12", "3.13", "3.14", "3.15")
IN_SID = ("3.14", "3.15")
CHROOT = shutil.which("chroot") or "/usr/sbin/chroot"
FOUND_MIN = 4


@dataclass(frozen=True)
class Interpreter:
    """`path` is as the program sees it: inside `root` where there is one."""

    minor: str
    version: str
    path: str
    root: Path | None

    @property
    def minor_number(self) -> int:
        return int(self.minor.split(".")[1])


@dataclass(frozen=True)
class Missing:
    minor: str
    why: str


def sid_folder() -> Path:
    return Path(os.environ.get("GENBA_SID") or Path.home() / ".cache/genba/sid")


def pyenv_versions() -> Path:
    return Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"


@functools.cache
def all_supported() -> tuple[Interpreter | Missing, ...]:
    return tuple(_in_sid(minor) if minor in IN_SID else _in_pyenv(minor) for minor in SUPPORTED)


def found() -> list[Interpreter]:
    return [one for one in all_supported() if isinstance(one, Interpreter)]


def _in_pyenv(minor: str) -> Interpreter | Missing:
    named = os.environ.get("GENBA_PYTHONS")
    candidates = [Path(part) for part in named.split(":")] if named else pyenv_candidates(minor)
    for candidate in candidates:
        version = _version([str(candidate)])
        if version and version.startswith(minor + "."):
            return Interpreter(minor, version, str(candidate), None)
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
    return Interpreter(minor, version, path, root)


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
