"""Where figures and outcomes are written down (JSON lines in the file that GENBA_FIGURES names), and of which sources they are.

Owns: the commit that a line names, and the state of the sources by which a long run goes on. Never: measures or judges.
"""

import functools
import hashlib
import json
import os
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
# The product without the viewer, and what tests share. A test's own file counts for that test alone.
SOURCES = ("Cargo.toml", "Cargo.lock", "crates", "python", "twin", "casebook", "make/build.mk", "tests")
# Between a commit and what was not committed yet.
CHANGED = "+"


def git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout


@functools.cache
def commit(root: Path = REPOSITORY) -> str:
    """Short, with CHANGED behind it where these sources were edited since."""
    edited = git(root, "status", "--porcelain", "--", *SOURCES)
    return git(root, "rev-parse", "--short", "HEAD").strip() + (CHANGED if edited else "")


@functools.cache
def shared_state(root: Path) -> bytes:
    names = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *SOURCES).split("\0")
    whole = hashlib.sha256()
    for name in sorted(set(filter(None, names))):
        path = root / name
        if path.name.startswith("test_") or not path.is_file():
            continue
        whole.update(f"{name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return whole.digest()


@functools.cache
def state(root: Path, file: str) -> str:
    """Of the sources as the tests of `file` see them: equal as long as nothing changed that can change their outcome."""
    return hashlib.sha256(shared_state(root) + (root / file).read_bytes()).hexdigest()[:12]


def append(path: Path, line: dict) -> None:
    """One write, so that lines of several test processes do not mix."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, (json.dumps(line, ensure_ascii=False) + "\n").encode())
    finally:
        os.close(descriptor)


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def mend(path: Path) -> None:
    """Takes away a last line that a machine going down cut off."""
    if path.exists():
        whole = path.read_bytes().rpartition(b"\n")
        os.truncate(path, len(whole[0] + whole[1]))
