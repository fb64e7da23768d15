"""What was learned of a library is kept from one run to the next: names stay right whatever becomes of the files that hold it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import interpreters
from recording import REPOSITORY, Run, Workshop, binary


# Who copies in a slice of bytes: which of them are functions of their own, and have a name of their own, differs between builds.
COPIERS = {"PyBytes_FromStringAndSize", "bytes_subscript", "bytes.__getitem__"}
# Some 0.3 s: the program's start weighs little beside them.
SLICES = "180000"
SHAPES = REPOSITORY / "tests/programs/shapes.cpp"


def kept(workshop: Workshop) -> list[Path]:
    return sorted((workshop.place.cache_folder() / "names").iterdir())


def copied(workshop: Workshop) -> Run:
    run = workshop.run(workshop.program("casebook/bytes-slice/slow.py"), SLICES)
    assert run.exit_code == 0, run.stderr
    return run


def check_named(run: Run) -> None:
    """The way from the guilty expression into C. Early samples come before the unwind rows: cut, they count with the whole ones."""
    # By wall time, a chain may end in `waiting for CPU` on a busy machine.
    rows = run.report_json("--weight", "cpu")["rows"]
    assert rows, run.profile().facts()
    chain = rows[0]["chain"]
    assert chain[-1] == "memmove" and chain[-2] in COPIERS, chain


def test_kept_names_are_those_of_the_first_run(cold: Workshop) -> None:
    check_named(copied(cold))
    files = kept(cold)
    assert files, "nothing was kept"
    before = [(file.name, file.stat().st_mtime_ns) for file in files]
    check_named(copied(cold))
    # What the first run learned was enough: nothing of it was written again.
    after = {file.name: file.stat().st_mtime_ns for file in kept(cold)}
    assert [(name, after[name]) for name, _ in before] == before


def test_a_home_without_a_folder_for_them_gets_one(tmp_path: Path) -> None:
    """Root's library is in another folder: nothing else makes this one."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    words = ["--python", interpreters.from_pyenv()[-1].path, REPOSITORY / "casebook/bytes-slice/slow.py", SLICES]
    command = [binary(), "run", "--quiet", "-o", tmp_path / "app.genba", *words]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and any((tmp_path / ".cache/genba/names").iterdir()), done.stderr


def test_damaged_files_are_learned_anew(cold: Workshop) -> None:
    check_named(copied(cold))
    for number, file in enumerate(kept(cold)):
        text = file.read_bytes()
        match number % 4:
            case 0:
                file.write_bytes(text[: len(text) // 2])
            case 1:
                file.write_bytes(bytes(255 - byte for byte in text))
            case 2:
                file.write_bytes(b"")
            case 3:
                file.unlink()
                file.mkdir()
    check_named(copied(cold))
    # What others could write to does not count, and nothing more is put there.
    (cold.place.cache_folder() / "names").chmod(0o777)
    before = [file.stat().st_mtime_ns for file in kept(cold)]
    check_named(copied(cold))
    assert [file.stat().st_mtime_ns for file in kept(cold)] == before


def test_two_runs_at_once(cold: Workshop) -> None:
    program = [cold.interpreter.path, cold.program("casebook/bytes-slice/slow.py"), SLICES]
    both = [cold.start(program, ["-o", f"{cold.place.inside}/{name}"], {}) for name in ("one.genba", "other.genba")]
    check_named(cold.finish(both[0], "one.genba"))
    check_named(cold.finish(both[1], "other.genba"))
    assert all(len(file.name) == 64 for file in kept(cold)), "nothing unfinished is left"


def test_a_debug_file_that_comes_and_goes(cold: Workshop) -> None:
    """A stripped library names only what it exports; beside the file with its symbols, everything."""
    if shutil.which("cc") is None or shutil.which("objcopy") is None:
        pytest.skip("no compiler")
    outside = cold.place.outside
    library, symbols = outside / "libshapes.so", outside / "libshapes.so.debug"
    subprocess.run(["cc", "-O2", "-g", "-shared", "-fPIC", "-Wl,--build-id", str(SHAPES), "-o", str(library)], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", str(library), str(symbols)], check=True)
    away = symbols.rename(outside / "away")
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={shutil.copy2(away, symbols)}", str(library)], check=True)
    symbols.unlink()

    def inlined() -> set[str]:
        run = cold.run(cold.program("tests/programs/foreign.py"), f"{cold.place.inside}/libshapes.so", "area_of_whole", "whole", "0.3")
        assert run.exit_code == 0, run.stderr
        frames = run.profile()["frames"]
        return {frame["name"] for frame in frames if (frame["module"] or "").endswith("libshapes.so") and frame["kind"] == "inlined"}

    for _ in range(2):
        assert "twist" not in inlined()
    shutil.copy2(away, symbols)
    for _ in range(2):
        assert "twist" in inlined()
    symbols.unlink()
    assert "twist" not in inlined()
