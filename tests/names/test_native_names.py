"""Names from the debug information and the symbols of C++ and Rust: inlined functions with their lines, demangled names.

The libraries are built here, with debug information, and called through ctypes; where the time goes in them is known from
their text: all of it inside `twist`, which the compiler must put into `turn`.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from recording import REPOSITORY, Run, Workshop

PROGRAMS = REPOSITORY / "tests/programs"
FOREIGN = "tests/programs/foreign.py"
SECONDS = "1"


def built(source: str, command: list[str], folder: Path) -> Path:
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} to build tests/programs/{source} with")
    made = folder / f"lib{Path(source).stem}.so"
    subprocess.run([*command, str(PROGRAMS / source), "-o", str(made)], check=True, capture_output=True)
    return made


@pytest.fixture(scope="session")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("shapes.cpp", ["cc", "-O2", "-g", "-shared", "-fPIC"], tmp_path_factory.mktemp("shapes"))


@pytest.fixture(scope="session")
def mangled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    command = ["rustc", "--crate-type", "cdylib", "-O", "-C", "symbol-mangling-version=v0"]
    return built("mangled.rs", command, tmp_path_factory.mktemp("mangled"))


def body_of(function: str) -> range:
    lines = (PROGRAMS / "shapes.cpp").read_text().splitlines()
    at = {mark: number for number, line in enumerate(lines, 1) for mark in re.findall(r"// ((?:begin|end) \w+)", line)}
    return range(at[f"begin {function}"], at[f"end {function}"])


def recorded(workshop: Workshop, library: Path, function: str, kind: str) -> Run:
    run = workshop.run(workshop.program(FOREIGN), workshop.take(library), function, kind, SECONDS, flags=("--rate", "1000"))
    assert run.exit_code == 0, run.stderr
    return run


def in_library(run: Run, library: Path) -> list[tuple[list[dict], int]]:
    """Frames in the library, outermost first, and samples, of every stack that ends there. A stack that is cut, and says so by a
    mark (the library's unwind rows were not compiled yet), claims nothing of what is below the cut."""
    stacks = []
    for row in run.profile().rows():
        if any(frame["kind"] == "mark" for frame in row.frames):
            continue
        frames = [frame for frame in row.frames if (frame["module"] or "").endswith(library.name)]
        if frames and frames[-1] is row.frames[-1]:
            stacks.append((frames, row.samples))
    assert sum(samples for _, samples in stacks) > 100, "most of a second at 1 kHz is spent in the library"
    return stacks


@pytest.mark.parametrize(("function", "kind", "number"), [("area_of_whole", "whole", "unsigned long"), ("area_of_real", "real", "double")])
def test_inlined_functions_stand_under_the_one_that_contains_them(
    workshop: Workshop, shapes: Path, function: str, kind: str, number: str
) -> None:
    run = recorded(workshop, shapes, function, kind)
    deepest = 0
    for frames, samples in in_library(run, shapes):
        names = [(frame["kind"], frame["name"]) for frame in frames]
        on_stack = [name for how, name in names if how == "c"]
        inlined = [name for how, name in names if how == "inlined"]
        # Outside of its loop `turn` may be anywhere; inside it, what is called is in this order and nothing else.
        called = [function, "shapes::Shape::area", f"shapes::turn<{number}>"]
        if on_stack[-1].endswith("@plt"):
            # On its way to what it calls, and not there yet: nothing may be said to have called it.
            called = [*called[: len(on_stack) - 1], f"{called[len(on_stack) - 1]}@plt"]
            assert [how for how, _ in names] == ["c"] * len(names), names
        assert on_stack == called[: len(on_stack)], names
        assert inlined == ["shapes::fold", "twist"][: len(inlined)], names
        if inlined:
            assert names[-len(inlined) - 1] == ("c", called[-1]), names
        for frame in frames:
            assert frame["file"].endswith("tests/programs/shapes.cpp"), frame
        for frame in frames:
            if frame["name"] in ("twist", "shapes::fold", called[-1]):
                # The line of a function's own first and last instructions is its first and last, outside of the body.
                body = body_of(frame["name"].removeprefix("shapes::").split("<")[0])
                assert body.start - 1 <= frame["line"] <= body.stop + 1, frame
        deepest += samples * (inlined[-1:] == ["twist"])
    whole = sum(samples for _, samples in in_library(run, shapes))
    # `twist` is 64 rounds of three instructions in a chain, all else a handful: less than a twentieth.
    assert deepest >= 0.9 * whole, f"{deepest} of {whole}"


def test_overloads_are_two_functions_with_one_short_name(workshop: Workshop, shapes: Path) -> None:
    full_names = set()
    for function, kind in (("area_of_whole", "whole"), ("area_of_real", "real")):
        frames = recorded(workshop, shapes, function, kind).profile()["frames"]
        full_names |= {frame["full_name"] for frame in frames if frame["name"] == "shapes::Shape::area"}
    assert full_names == {"shapes::Shape::area(unsigned long) const", "shapes::Shape::area(double) const"}


def test_text_says_what_was_inlined_and_the_first_screen_stays_short(workshop: Workshop, shapes: Path) -> None:
    run = recorded(workshop, shapes, "area_of_whole", "whole")
    (chain,) = [row["chain"] for row in run.report_json("--weight", "cpu")["rows"] if row["expression"] == "call(100_000)"]
    at = chain.index("area_of_whole")
    assert chain[at:] == ["area_of_whole", "shapes::Shape::area", "shapes::turn<unsigned long>"], chain
    library = f"[{shapes.name}]"
    stacks = [str(line) for line in run.collapsed_text().splitlines()]
    ending = f";shapes::turn<unsigned long> {library};shapes::fold (inlined) {library};twist (inlined) {library}"
    assert any(ending in stack for stack in stacks), stacks[:5]
    assert f"twist (inlined) {library}" in run.tree()


def test_inlined_frames_are_read_from_the_recording_alone(workshop: Workshop, shapes: Path) -> None:
    run = recorded(workshop, shapes, "area_of_whole", "whole")
    before = run.collapsed_text()
    (workshop.place.outside / shapes.name).unlink()
    assert run.collapsed_text() == before


def test_rust_names_lose_crate_hashes_and_keep_them_in_json(workshop: Workshop, mangled: Path) -> None:
    run = recorded(workshop, mangled, "turn_wheel", "whole")
    leaves = {(frames[-1]["name"], frames[-1]["full_name"]) for frames, samples in in_library(run, mangled) if samples > 50}
    ((name, full_name),) = leaves
    assert name == "<mangled::wheels::Wheel<u32> as mangled::wheels::Turn>::turn"
    assert re.fullmatch(r"<mangled\[[0-9a-f]+\]::wheels::Wheel<u32> as mangled\[[0-9a-f]+\]::wheels::Turn>::turn", full_name)


def test_the_package_that_has_the_names(workshop: Workshop) -> None:
    """Debian strips its libraries: who sees `libsqlite3.so.0+0x…` is told which package brings the names. dpkg knows whose library it is."""
    program = workshop.write(
        "program.py",
        "import json, sys\n"
        "if '_sqlite3' in sys.builtin_module_names:\n    print(json.dumps('built in')); sys.exit()\n"
        "try:\n    import sqlite3\nexcept ImportError:\n    print(json.dumps(None)); sys.exit()\n"
        "rows = sqlite3.connect(':memory:')\n"
        "rows.execute('create table t(a, b)')\n"
        "rows.executemany('insert into t values(?, ?)', ((n, str(n)) for n in range(100_000)))\n"
        "for _ in range(150):\n    rows.execute(\"select sum(length(b)) from t where b like '%9%'\").fetchall()\n"
        "import glob, os, re\n"
        "file = next(line.split()[-1] for line in open('/proc/self/maps') if '/libsqlite3.so' in line)\n"
        "links = glob.glob(os.path.dirname(file) + '/libsqlite3.so.*')\n"
        "print(json.dumps([os.path.basename(link) for link in links if os.path.samefile(link, file)]))\n",
    )
    run = workshop.run(program)
    if run.answer() is None:
        pytest.skip(f"CPython {workshop.interpreter.version} was built without sqlite3")
    if run.answer() == "built in":
        pytest.skip(f"CPython {workshop.interpreter.name} has SQLite inside of itself, in no library of the system's")
    # The file and the link that programs know it by, which has one number.
    library = min(run.answer(), key=len)
    package = package_of(workshop, max(run.answer(), key=len))
    # In the tree, not in a row's chain: that one ends where most of its CPU does, which may be in a function that has a name.
    assert f"{library}+0x" in run.tree()
    warnings = [line for line in run.stderr.splitlines() if "that have no name" in line]
    assert any(library in line and line.endswith(f"; {package}-dbgsym would bring them") for line in warnings), run.stderr


def package_of(workshop: Workshop, library: str) -> str:
    done = subprocess.run(workshop.place.command(["dpkg", "-S", f"*/{library}"]), capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"{library} is in no package of Debian's: {done.stderr}")
    return done.stdout.split(":")[0]
