"""Paths and names of any length and script: whole up to 4,096 letters; of longer ones both ends, and two never become one."""

import pytest

from recording import Run, Workshop, genba_said

# An emoji makes CPython keep four bytes for each letter of a path.
NAMES = ["📁 Проекты", *["очень длинное имя папки, какие бывают в архивах " * 2] * 3]
MODULE = """
import time
def handle(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(range(3000))
"""
DEEP = """
import importlib.util, json, os, sys
def load(name):
    spec = importlib.util.spec_from_file_location(name, os.path.join(DEEP, name, "handler.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
alpha, beta = load("alpha"), load("beta")
alpha.handle(0.3)
beta.handle(0.7)
print(json.dumps(len(beta.handle.__code__.co_filename)))
"""
# As a shell without a locale has them: each byte that is no ASCII is a letter of its own.
ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


def shares(run: Run) -> dict[str, float]:
    rows = run.report_json("--by", "module", "--weight", "cpu")["rows"]
    return {row["file"]: row["share"] for row in rows if row["file"]}


@pytest.mark.parametrize("environment", [{}, ASCII], ids=["UTF-8", "ASCII"])
def test_two_files_deep_below_an_emoji(workshop: Workshop, environment: dict[str, str]) -> None:
    folder = workshop.place.outside.joinpath(*NAMES)
    inside = "/".join([workshop.place.inside, *NAMES])
    for name in ("alpha", "beta"):
        (folder / name).mkdir(parents=True)
        (folder / name / "handler.py").write_text(MODULE)
    # Written as bytes, for whatever letters the program makes of them.
    program = workshop.write("deep.py", f"import os\nDEEP = os.fsdecode({inside.encode()!r})\n" + DEEP)
    run = workshop.run(program, environment=environment)
    letters = run.answer()
    assert letters > 256
    found = {name: share for name, share in shares(run).items() if name.endswith("handler.py")}
    assert {len(name) >= letters for name in found} == {True}
    [(alpha, low), (beta, high)] = sorted(found.items())
    assert (alpha[-16:], beta[-15:]) == ("alpha/handler.py", "beta/handler.py")
    # Of the two alone: how much the program's start takes is the machine's affair.
    assert 0.2 < low / (low + high) < 0.4
    assert genba_said("lines", run.recording, "--file", "*beta/handler.py").count("sum(range(3000))") == 1
    assert run.report().count("sum(range(3000))") >= 2
    files = {frame["file"] for frame in run.profile()["frames"]}
    assert {alpha, beta} <= files


LONG = """
import json, time
def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(range(3000))
def renamed(**names):
    return type(work)(work.__code__.replace(**names), globals())
works = [renamed(**{attribute: begin + middle + end}) for attribute, begin, end in KINDS for middle in "12"]
for work in works:
    work(0.3)
print(json.dumps([len(work.__code__.co_qualname) for work in works]))
"""


def test_long_names_that_differ_in_the_middle_alone(workshop: Workshop) -> None:
    whole, long = ("имя" * 600, "😀" * 2000), ("b" * 4000, "Я" * 40_000)
    kinds = [("co_qualname", *whole), ("co_qualname", *long), ("co_filename", *long)]
    run = workshop.run(workshop.write("long.py", f"KINDS = {kinds!r}\n" + LONG))
    assert run.answer() == [3801, 3801, 44_001, 44_001, 4, 4]
    frames = [frame for frame in run.profile()["frames"] if frame["kind"] == "python"]
    names = {frame["name"] for frame in frames}
    files = {frame["file"].removeprefix(f"{workshop.place.inside}/") for frame in frames}
    assert {"".join([whole[0], middle, whole[1]]) for middle in "12"} <= names
    for some in (names, files):
        cut = [name for name in some if name.startswith("b" * 2048 + "…(44001 letters, ")]
        assert len(cut) == 2, [name[:80] for name in some]
        assert all(name.endswith(")…" + "Я" * 2048) for name in cut)
