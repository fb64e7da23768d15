"""`genba attach --copies`: what memcpy and memmove copy from then on, by expression; and afterwards each call of the program's leads where it did before."""

import json
import os
import signal
import struct
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import pytest

from entered import few, running, state
from recording import REPOSITORY, Run, Workshop, binary, genba
from running_program import Program, until
from soak import SOAK

# What the interpreter copies beside its work.
BESIDE_MAX = 60_000_000
LOADED = "array.cpython"
ATTACHES = 100 if SOAK else 4


@contextmanager
def attached(program: Program, name: str) -> Iterator[Path]:
    """Recorded while the block runs, from its first block of samples on."""
    recording = program.workshop.place.outside / name
    command = [str(binary()), "attach", str(program.pid), "--copies", "-o", str(recording), "--quiet"]
    environment = {**os.environ, **program.workshop.place.environment({})}
    genba = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert until(lambda: recording.exists() and recording.stat().st_size > 0), genba.poll()
        yield recording
    finally:
        genba.send_signal(signal.SIGINT)
        _, said = genba.communicate(timeout=60)
    assert genba.returncode == 0, said
    program.workshop.runs.append(Run(0, "", said, recording))


def left_behind(program: Program) -> None:
    """A recording whose command is killed: the agent ends it when it notices."""
    recording = program.workshop.place.outside / "killed.genba"
    command = [str(binary()), "attach", str(program.pid), "--copies", "-o", str(recording), "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, **program.workshop.place.environment({})}) as genba:
        assert until(lambda: calls_of_hooks(program) > 0), genba.poll()
        genba.kill()


def copied(program: Program, how: str) -> int:
    program.process.stdin.write(f"{how}\n")
    program.process.stdin.flush()
    return int(program.process.stdout.readline())


def mappings(program: Program) -> list[tuple[int, int, str, str]]:
    """Of files: first and last address, what may be done, the file's name."""
    found = []
    for line in Path(f"/proc/{program.pid}/maps").read_text().splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].startswith("/"):
            start, end = (int(address, 16) for address in fields[0].split("-"))
            found.append((start, end, fields[1], fields[5]))
    return found


def calls_of_hooks(program: Program, of: str = "") -> int:
    """How many words in the data of the program's files, or of those with this in their names, lead into genba's code."""
    every = mappings(program)
    own = [(start, end) for start, end, rights, name in every if Path(name).name.startswith("genba-agent-") and "x" in rights]
    count = 0
    with Path(f"/proc/{program.pid}/mem").open("rb", buffering=0) as memory:
        for start, end, rights, name in every:
            if Path(name).name.startswith("genba-agent-") or "x" in rights or end - start > 8 << 20 or of not in Path(name).name:
                continue
            memory.seek(start)
            data = memory.read(end - start)
            count += sum(any(first <= word < last for first, last in own) for (word,) in struct.iter_unpack("<Q", data))
    return count


def row_of(run: Run, function: str) -> dict:
    rows = run.report_json("--weight", "copied", "--by", "function")["rows"]
    return next((row for row in rows if row["function"] == function), {"copied_bytes": 0})


def test_what_a_running_program_copies(workshop: Workshop) -> None:
    command = [workshop.interpreter.path, workshop.program("tests/programs/copies_attached.py")]
    with running(workshop, command) as program:
        copied(program, "slices")
        with attached(program, "first.genba"):
            known = copied(program, "slices")
            assert calls_of_hooks(program) > 0
        assert until(lambda: not program.has_genba_thread())
        before, files = state(program), mappings(program)
        assert calls_of_hooks(program) == 0
        copied(program, "slices")
        with attached(program, "second.genba"):
            assert copied(program, "slices") == known
            copied(program, "loads")
            # Where it is a file of its own.
            is_there = any(LOADED in Path(name).name for *_, name in mappings(program))
            assert not is_there or until(lambda: calls_of_hooks(program, LOADED) > 0)
            assert copied(program, "arrays") == known
        assert until(lambda: state(program) == before), (state(program), before)
        assert calls_of_hooks(program) == 0
        left_behind(program)
        assert until(lambda: calls_of_hooks(program) == 0 and state(program) == before)
        # What may be done with each page is as it was; `arrays` may have brought a file.
        assert set(files) <= set(mappings(program))
        stdout, _ = program.process.communicate(timeout=60)
    assert stdout.splitlines()[-1] == '{"right": true}'
    first, second = workshop.runs
    for run, functions in ((first, ["slices"]), (second, ["slices", "arrays"])):
        page = run.report_json("--weight", "copied")
        assert known * len(functions) <= page["copied_bytes"] <= known * len(functions) + BESIDE_MAX, "the count misses nothing"
        in_samples = sum(run.profile()["samples"]["copied_bytes"]) / page["copied_bytes"]
        for function in functions:
            row = row_of(run, function)
            # Two places of the same size, with some 800 samples a second: six standard deviations of 600 throws of a coin.
            assert abs(row["copied_bytes"] / in_samples / known - 1) <= (0.03 if len(functions) == 1 else 0.25), row
            assert "memmove" in row["chain"][-1], row["chain"]
        # Neither here nor for CPU time is a hook between a function and the copy that it calls.
        rows = [*page["rows"], *run.report_json("--weight", "cpu")["rows"]]
        assert not [row for row in rows if any("genba" in name for name in row["chain"])], rows
    assert first.report_json("--weight", "copied")["rows"][0]["expression"] == "b[1:]"


def test_a_library_that_the_linker_is_long_at(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The linker asks it which function is meant, and waits half a second, when it has filled in a part of its slots."""
    library = tmp_path_factory.mktemp("slow") / "loads_slowly.so"
    source = REPOSITORY / "tests/programs/loads_slowly.c"
    subprocess.run(["cc", "-O1", "-fno-builtin", "-shared", "-fPIC", "-Wl,-z,lazy", source, "-o", library], check=True)
    command = [workshop.interpreter.path, workshop.program("tests/programs/loads_slowly.py"), workshop.take(library)]
    with running(workshop, command) as program, attached(program, "slow.genba"):
        bytes_moved = copied(program, "loads")
        # One slot of each kind: the pointer's and the call's.
        assert until(lambda: calls_of_hooks(program, library.name) == 2), calls_of_hooks(program, library.name)
        copied(program, "moves")
    [run] = workshop.runs
    assert bytes_moved <= run.report_json("--weight", "copied")["copied_bytes"] <= bytes_moved + BESIDE_MAX


@pytest.fixture(scope="session")
def moving(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """moves.c with slots that the linker seals, and with slots that it fills in at the first call."""
    built = []
    for binding in ("now", "lazy"):
        built.append(tmp_path_factory.mktemp("moves") / f"{binding}.so")
        source = REPOSITORY / "tests/programs/moves.c"
        subprocess.run(["cc", "-O1", "-fno-builtin", "-shared", "-fPIC", f"-Wl,-z,{binding}", "-Wl,-z,relro", source, "-o", built[-1]], check=True)
    return built


def copied_so_far(run: Run) -> int:
    """At first there may be nothing in it that can be read."""
    done = genba("report", run.recording, "--weight", "copied", "--format", "json")
    return json.loads(done.stdout)["copied_bytes"] if done.returncode == 0 else 0


@few
@pytest.mark.measures
def test_while_libraries_come_and_go(workshop: Workshop, moving: list[Path]) -> None:
    command = [workshop.interpreter.path, workshop.program("tests/programs/loads_and_moves.py"), *(workshop.take(library) for library in moving)]
    with running(workshop, command) as program:
        for number in range(ATTACHES):
            with program.recording(f"moves-{number}.genba", "--copies") as run:
                assert until(lambda run=run: copied_so_far(run) > 0, every_seconds=0.2)
        assert program.end() == {"loaded": True, "wrong": 0}
