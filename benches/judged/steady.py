"""`make steady`: how often a program gets the same verdict. The programs are those that the rules were tuned with (the tables of tests/rules), and
those of untuned.py; each is recorded RUNS times (20) on each interpreter. A row a program, as soon as it is known.

With GENBA_FIGURES set, each row is also a JSON line there, as those of `make bench`: make/measured.py makes a row of docs/measured.md of it.
Owns: how often is enough, and which verdicts are the same. argv: the command and the interpreters. ONLY: programs with this word in their names. Never: says whether a verdict is
right (the tests do), or tries again. The exit code is 1 where one is below the bound.
"""

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import untuned

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))
import machine  # noqa: E402

RUNS = int(os.environ.get("RUNS", "20"))
# Of 20 runs 19.
SAME_MIN = 0.95
# How wide the same place is: they count as one verdict where they name the same function, as the rules have it (`kind` in rules/verdict.rs).
WIDTHS = ("one place", "one line", "one function")


@dataclass(frozen=True)
class Verdict:
    name: str
    function: str | None

    @property
    def means(self) -> str:
        return f"one: {self.function}" if self.name in WIDTHS else self.name


@dataclass(frozen=True)
class Program:
    path: str
    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


def programs() -> dict[str, Program]:
    """By what a row is called: `first_screen/commits 2000`."""
    found = [*of_table("test_first_screen.py", "first_screen"), *of_table("test_verdict.py", "verdicts"), Program("verdicts/gc_heavy", ("400",))]
    found += [Program(f"first_screen/untuned/{name}", (slow.amount,)) for name, slow in untuned.PROGRAMS.items()]
    return {" ".join([program.path, *program.arguments]): program for program in found}


def of_table(test: str, folder: str) -> list[Program]:
    """The table PROGRAMS of a test: each name, and what `Slow` is given for it."""
    tree = ast.parse((ROOT / "tests/rules" / test).read_text())
    [table] = [node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PROGRAMS"]
    found = []
    for name, call in zip(table.keys, table.values, strict=True):
        given = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
        amount = ast.literal_eval(call.args[0])
        path = f"{given.get('folder', folder)}/{ast.literal_eval(name)}"
        found.append(Program(path, tuple(amount.split()), tuple(given.get("environment", {}).items())))
    return found


def main(genba: str, pythons: list[str]) -> int:
    below = []
    print(f"| program | CPython | verdict | of {RUNS} runs |\n|---|---|---|--:|")
    for name, program in programs().items():
        if os.environ.get("ONLY", "") not in name:
            continue
        for python in pythons:
            version = said([python, "-c", "import platform; print(platform.python_version())"]).strip()
            verdicts = [verdict(genba, python, program) for _ in range(RUNS)]
            words = ", ".join(f"`{name}` {times}" for name, times in Counter(verdict.name for verdict in verdicts).most_common())
            most = max(Counter(verdict.means for verdict in verdicts).values())
            print(f"| `{name}` | {version} | {words} | {most} |", flush=True)
            write_down(name, version, words, most)
            if most < SAME_MIN * RUNS:
                below.append(f"{name} on {version}")
    print(f"\nbelow {SAME_MIN:.0%}: {', '.join(below) or 'none'}")
    return int(bool(below))


def write_down(name: str, version: str, words: str, most: int) -> None:
    if path := os.environ.get("GENBA_FIGURES"):
        minor = ".".join(version.split(".")[:2])
        line = {"test": "make steady", "python": minor, "figure": f"`{name}`", "value": most, "unit": f"of {RUNS}: {words}", "bound": SAME_MIN * RUNS}
        with open(path, "a") as file:
            file.write(json.dumps({**line, "soak": False, "commit": machine.commit()}, ensure_ascii=False) + "\n")


def verdict(genba: str, python: str, program: Program) -> Verdict:
    minor = ".".join(said([python, "-c", "import platform; print(platform.python_version())"]).split(".")[:2])
    libraries = [ROOT / "build/compiled" / minor, ROOT / "build/tools/site-packages"]
    environment = {**os.environ, **dict(program.environment), "PYTHONPATH": ":".join(map(str, libraries))}
    with tempfile.TemporaryDirectory() as folder:
        recording = f"{folder}/steady.genba"
        command = [genba, "run", "--quiet", "--python", python, "-o", recording, str(ROOT / f"tests/{program.path}.py"), *program.arguments]
        subprocess.run(command, check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
        told = json.loads(said([genba, "report", "--format", "json", recording]))["verdict"]
        return Verdict(told["name"], next((place["function"] for place in told["places"]), None))


def said(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2:]))
