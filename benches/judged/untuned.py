"""`make untuned`: the first screens of ten slow programs that no rule was tuned for (tests/first_screen/untuned), as they come out.

Owns: what each verdict must hold for its points, written before the programs were recorded for the first time. argv: the command and
the interpreters. Never: a second try; what comes out is what is printed.
Points: 2 where the verdict names the reason and the place, 1 where only the screen's rows hold the place, 0 else.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "tests/first_screen/untuned"
LINE_CELLS_MAX = 110


@dataclass(frozen=True)
class Slow:
    """A program: how much it does, names of the right verdicts, the place, and words that name the reason."""

    amount: str
    verdicts: tuple[str, ...]
    place: str
    reason: str


PROGRAMS = {
    "attributes": Slow("1500", ("one place", "one line", "one function"), "attributes.py:1", "__getattr__"),
    "byte_buffer": Slow("8000", ("one place",), "byte_buffer.py:14 received", "buffer += piece"),
    "cache_keys": Slow("30000", ("one place",), "cache_keys.py:19 cached", "json.dumps("),
    "csv_decimals": Slow("150", ("one place", "one line", "one function"), "csv_decimals.py:1", "csv.DictReader("),
    "dates": Slow("150", ("one place",), "dates.py:13 hours", "datetime.strptime("),
    "polling": Slow("40", ("waiting",), "polling.py:18 finished", "time.sleep(0.02)"),
    "pop_front": Slow("60000", ("one place",), "pop_front.py:14 reachable", "waiting.pop(0)"),
    "sorting": Slow("6000", ("one place",), "sorting.py:11 ranked", "best.sort("),
    "two_writers": Slow("60000", ("GIL", "waiting"), "two_writers.py:15 Counter.add", "self.lock"),
    "unindexed": Slow("1000", ("one place",), "unindexed.py:16 customer", "database.execute("),
}


def main(genba: str, pythons: list[str]) -> None:
    versions = [said([python, "-c", "import platform; print(platform.python_version())"]).strip() for python in pythons]
    print("| program | CPython | verdict | points |\n|---|---|---|--:|")
    sums = dict.fromkeys(versions, 0)
    for name, slow in PROGRAMS.items():
        for python, version in zip(pythons, versions, strict=True):
            screen = first_screen(genba, python, name, slow.amount)
            found = points(slow, screen)
            sums[version] += found
            print(f"| `{name}` | {version} | {' '.join(f'`{line}`' for line in verdict(screen))} | {found} |", flush=True)
    for version, found in sums.items():
        print(f"\nCPython {version}: {found} of {2 * len(PROGRAMS)} points.")


def first_screen(genba: str, python: str, name: str, amount: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        recording = f"{folder}/{name}.genba"
        command = [genba, "run", "--quiet", "--python", python, "-o", recording, str(FOLDER / f"{name}.py"), amount]
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)
        screen = said([genba, "report", recording])
    if "SCREENS" in os.environ:
        print(f"{screen}\n", file=sys.stderr)
    return screen


def said(command: list[str]) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def verdict(screen: str) -> list[str]:
    """The verdict's lines: behind the two of the header, up to the empty one."""
    lines = screen.split("\n\n", 1)[0].splitlines()[2:]
    return [" ".join(line.split()) if len(line) <= LINE_CELLS_MAX else " ".join(line.split())[:LINE_CELLS_MAX] + "…" for line in lines]


def points(slow: Slow, screen: str) -> int:
    header, rows = screen.split("\n\n", 1)
    says = any(f"\n{name}: " in header for name in slow.verdicts)
    if says and slow.place in header and slow.reason in header:
        return 2
    # In rows of one place only the first has its name.
    return int(slow.place in header or slow.place in rows)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), sys.argv[2:])
