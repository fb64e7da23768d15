"""What a figure was measured on: processor, kernel, versions, seed. Owns: those words. Never: measures."""

import os
import platform
import subprocess
from pathlib import Path


def words(python: str, genba: str, seed: int) -> str:
    parts = [processor(), f"{os.cpu_count()} CPUs", f"Linux {platform.release()}", version(python), said(genba, "--version")]
    return ", ".join([*parts, f"seed {seed}"])


def processor() -> str:
    rows = Path("/proc/cpuinfo").read_text().splitlines()
    names = [row.partition(": ")[2] for row in rows if row.startswith("model name")]
    return names[0] if names else platform.machine()


def version(python: str, prefix: list[str] | None = None) -> str:
    code = "import platform; print(platform.python_implementation(), platform.python_version())"
    return said(*(prefix or []), python, "-c", code)


def minor(python: str) -> str:
    """CPython 3.13"""
    return version(python).rpartition(".")[0]


def said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def commit() -> str:
    return said("git", "-C", str(Path(__file__).parent), "describe", "--always", "--exclude=*", "--dirty=+")


def newest_python() -> str:
    """pyenv's newest that all peers know, else the system's."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = (path for minor in ("3.13", "3.12", "3.11") for path in sorted(pyenv.glob(f"{minor}.*/bin/python3")))
    return str(next(found, "python3"))
