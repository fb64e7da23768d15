"""Interpreters that genba does not know are refused by name before anything runs (I-10: layout facts are checked first)."""

from pathlib import Path

import pytest

import interpreters
from recording import REPOSITORY, binary

HELLO = REPOSITORY / "tests/programs/hello.py"


def run_with(python: Path, tmp_path: Path, *flags: str):
    import subprocess

    command = [str(binary()), "run", *flags, "-o", str(tmp_path / "out.genba"), str(python), str(HELLO), str(tmp_path / "ran")]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("minor", ["3.10", "3.9", "2.7"])
def test_an_old_cpython(minor: str, tmp_path: Path) -> None:
    candidates = [path.parent / "python" for path in interpreters.pyenv_versions().glob(f"{minor}.*/bin/python")]
    if not candidates:
        pytest.skip(f"no CPython {minor} in pyenv")
    done = run_with(candidates[0], tmp_path)
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert not (tmp_path / "ran").exists(), "the program ran"
    first, *rest = done.stderr.splitlines()
    assert first.startswith("error: ") and minor in done.stderr, done.stderr
    assert any(line.startswith("hint: ") for line in rest), done.stderr
    assert not (tmp_path / "out.genba").exists(), "a refused run leaves no recording"


def test_a_child_that_is_not_supported_runs_unharmed_and_is_noted(workshop) -> None:
    if workshop.interpreter.root is not None:
        pytest.skip("the old CPython lies outside of the Debian sid")
    old = next(iter(interpreters.pyenv_candidates("3.10")), None)
    if old is None:
        pytest.skip("no CPython 3.10 in pyenv")
    program = workshop.write("parent.py", "import subprocess, sys\nsys.exit(subprocess.run(sys.argv[1:]).returncode)\n")
    proof = workshop.place.outside / "ran"
    run = workshop.run(program, str(old), str(HELLO), str(proof))
    assert (run.exit_code, run.stdout) == (0, "hello\n"), run.stderr
    assert proof.read_text() == "ran"
    refused = [process["refused"] for process in run.profile()["processes"]]
    assert len(refused) == 2 and sum(one is not None and "CPython before 3.11" in one for one in refused) == 1, refused


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    done = run_with(tmp_path / "no-such-python", tmp_path)
    assert done.returncode == 2, done.stderr
    assert "no-such-python" in done.stderr and "hint: " in done.stderr
