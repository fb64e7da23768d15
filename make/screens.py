"""`make screens`: puts real screens into README.md, docs/reading.md and docs/verdicts, each between two marks. The first mark holds the commands:
`genba run …`, and how it is read: `genba report …`, with `| head -n N` for its first lines.

Owns: what stands between those marks. argv: the command, the interpreter, pages (all of them without). Never: changes a figure. Each
program runs up to TRIES times, and the run stays that lost the fewest ticks to whatever else the machine was doing."""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- `make screens`: ", "<!-- end of screen -->\n"
SCREEN = re.compile(re.escape(BEGIN) + r"(?P<run>[^;\n]+); (?P<read>[^;\n]+) -->\n.*?" + re.escape(END), re.DOTALL)
TRIES = int(os.environ.get("TRIES", "3"))
SAMPLED_ENOUGH = 0.98
COLUMNS = 104
# Where the programs' libraries are: a reader has them installed.
LIBRARIES = [ROOT / "build/compiled/3.13", ROOT / "build/tools/site-packages"]


def main(genba: str, python: str, pages: list[Path]) -> None:
    for page in pages:
        text = page.read_text()
        assert text.count(BEGIN) == len(SCREEN.findall(text)), f"{page}: marks are `{BEGIN}genba run …; genba report … -->` and `{END}`"
        page.write_text(SCREEN.sub(lambda found: filled(genba, python, found["run"], found["read"]), text))
        print(page.relative_to(ROOT))


def filled(genba: str, python: str, run: str, read: str) -> str:
    """The whole block. Without `--quiet` the report is what `genba run` ends with, and no second command is shown."""
    with tempfile.TemporaryDirectory() as folder:
        best = Path(folder) / "best.genba"
        share = -1.0
        for number in range(TRIES):
            recording = Path(folder) / f"{number}.genba"
            record(genba, python, run, recording)
            if sampled(genba, recording) > share:
                share = sampled(genba, recording)
                recording.replace(best)
            if share > SAMPLED_ENOUGH:
                break
        screen = report(genba, read, best)
    assert str(Path.home()) not in screen, f"a path of this machine in:\n{screen}"
    shown = [run, read] if "--quiet" in run else [run]
    commands = "".join(f"$ {command}\n" for command in shown)
    return f"{BEGIN}{run}; {read} -->\n```console\n{commands}{screen.rstrip()}\n```\n{END}"


def record(genba: str, python: str, run: str, recording: Path) -> None:
    words = shlex.split(run)
    given = [word for word in words[: words.index("genba")]]
    options = ["--quiet", "-o", str(recording), "--python", python]
    after = [word for word in words[words.index("run") + 1 :] if word != "--quiet"]
    environment = {**os.environ, **dict(word.split("=", 1) for word in given), "PYTHONPATH": os.pathsep.join(map(str, LIBRARIES))}
    subprocess.run([genba, "run", *options, *after], cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)


def sampled(genba: str, recording: Path) -> float:
    profile = json.loads(output([genba, "report", str(recording), "--format", "json"]))
    return profile["accounting"]["sampled"] / max(profile["accounting"]["ticks"], 1)


def report(genba: str, read: str, recording: Path) -> str:
    command, _, head = read.partition(" | head -n ")
    _, *words = shlex.split(command)
    # In a pipe no line is broken.
    columns = None if head else COLUMNS
    lines = output([genba, words[0], str(recording), *words[1:]], columns).splitlines(keepends=True)
    return "".join(lines[: int(head)] if head else lines)


def output(command: list[str], columns: int | None = None) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    if columns is not None:
        environment["COLUMNS"] = str(columns)
    return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    chosen = [Path(page).resolve() for page in sys.argv[3:]]
    main(sys.argv[1], sys.argv[2], chosen or [ROOT / "README.md", ROOT / "docs/reading.md", *sorted((ROOT / "docs/verdicts").glob("*.md"))])
