"""`make screens`: puts real screens into README.md, pages of docs and docs/verdicts, each between two marks. The first mark holds the commands:
`genba run --quiet …`, and how it is read: `genba report …`, with `| head -n N` for its first lines. Or `genba run …` alone: what it prints at its
end. Or one more command that has a screen of its own, `genba bench …` or `genba doctor …`, perhaps with one of
    `; after: COMMAND`: another command of genba's, which runs before it in the same folder and leaves a file there,
    `; beside: PROGRAM`: it runs meanwhile, prints a line when it is ready, and `$!` is its number,
and with `; lines: PATTERN` at the end: an ellipsis takes the place of lines in which the pattern is not found.

Owns: what stands between those marks. argv: the command, the interpreter, pages (all of them without). Never: changes a figure. In what the doctor
says, `~` takes the place of the home folder, and a kernel's name of its own goes. Each program runs up to TRIES times, and the run stays that lost
the fewest ticks to whatever else the machine was doing; of a bench the one with the least noise."""

import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- `make screens`: ", "<!-- end of screen -->\n"
OTHER = r"(?:; (?P<when>after|beside): (?P<other>[^\n]+?))?"
ALONE = r"(?P<alone>genba (?:bench|doctor)\b[^\n]*?)" + OTHER + r"(?:; lines: (?P<lines>[^\n]+))?"
SCREEN = re.compile(re.escape(BEGIN) + f"(?:{ALONE}" + r"|(?P<run>[^;\n]+?)(?:; (?P<read>[^;\n]+))?) -->\n.*?" + re.escape(END), re.DOTALL)
TRIES = int(os.environ.get("TRIES", "3"))
SAMPLED_ENOUGH = 0.98
# On a quiet machine it is 1 to 3.
NOISE_PERCENT_ENOUGH = 5.0
NOISE = re.compile(r"noise: two equal commands seem up to ([\d.]+) % apart")
COLUMNS = 104
# Where the programs' libraries are: a reader has them installed.
LIBRARIES = [ROOT / "build/compiled/3.13", ROOT / "build/tools/site-packages"]
PAGES = ("README.md", "docs/reading.md", "docs/bench.md", "docs/doctor.md")


def main(genba: str, python: str, pages: list[Path]) -> None:
    for page in pages:
        text = page.read_text()
        assert text.count(BEGIN) == len(SCREEN.findall(text)), f"{page}: marks are `{BEGIN}genba run …; genba report … -->`, or `genba bench …`, and `{END}`"
        page.write_text(SCREEN.sub(lambda found: of_mark(genba, python, found), text))
        print(page.relative_to(ROOT))


def of_mark(genba: str, python: str, found: re.Match[str]) -> str:
    if found["alone"]:
        return filled_alone(genba, python, found)
    return filled(genba, python, found["run"], found["read"])


def filled(genba: str, python: str, run: str, read: str | None) -> str:
    """The whole block. Without `read` it is what `genba run` prints itself, its last line too."""
    assert ("--quiet" in run) == (read is not None), f"{run}: it prints its own screen unless it is --quiet, and then somebody reads the recording"
    screen, share = "", -1.0
    for _ in range(TRIES):
        with folder_of_a_reader() as folder:
            printed = record(genba, python, run, folder if read is None else ROOT, [] if read is None else ["-o", f"{folder}/read.genba"])
            [recording] = folder.glob("*.genba")
            if sampled(genba, recording) > share:
                share = sampled(genba, recording)
                screen = report(genba, read, recording) if read else printed
        if share > SAMPLED_ENOUGH:
            break
    assert str(Path.home()) not in screen, f"a path of this machine in:\n{screen}"
    shown = [run, read] if read else [run]
    commands = "".join(f"$ {command}\n" for command in shown)
    return f"{BEGIN}{'; '.join(shown)} -->\n```console\n{commands}{screen.rstrip()}\n```\n{END}"


def filled_alone(genba: str, python: str, found: re.Match[str]) -> str:
    """The whole block, of a command that shows its screen itself."""
    best, least = "", float("inf")
    for _ in range(TRIES):
        screen = shown_by(genba, python, found)
        # Only a comparison tells its noise.
        noise = max(map(float, NOISE.findall(screen)), default=0.0)
        if noise < least:
            best, least = screen, noise
        if least <= NOISE_PERCENT_ENOUGH:
            break
    screen = chosen_lines(best, found["lines"]) if found["lines"] else best
    if found["alone"].startswith("genba doctor"):
        screen = screen.replace(f"{Path.home()}/", "~/").replace(platform.release(), platform.release().partition("-")[0])
    assert str(Path.home()) not in screen, f"a path of this machine in:\n{screen}"
    mark = found[0].partition("\n")[0]
    commands = "".join(f"$ {line}\n" for line in typed(found))
    return f"{mark}\n```console\n{commands}{screen.rstrip()}\n```\n{END}"


def typed(found: re.Match[str]) -> list[str]:
    """What a reader types for it, line by line."""
    before = {None: [], "after": [found["other"]], "beside": [f"{found['other']} &"]}
    return [*before[found["when"]], found["alone"]]


def shown_by(genba: str, python: str, found: re.Match[str]) -> str:
    # `python` is the interpreter, as for a reader who has it on PATH.
    path = os.pathsep.join([str(Path(python).parent), os.environ.get("PATH", os.defpath)])
    dropped = ("COLUMNS", "VIRTUAL_ENV", "LD_PRELOAD")
    environment = {**{name: value for name, value in os.environ.items() if name not in dropped}, "PATH": path, "GENBA_SETTINGS": "none"}
    if not found["lines"]:
        environment["COLUMNS"] = str(COLUMNS)
    command = found["alone"]
    if found["when"] == "beside":
        with running(found["other"], environment) as pid:
            screen = said(genba, command.replace("$!", str(pid)), environment, ROOT)
    elif found["when"] == "after":
        with folder_of_a_reader() as folder:
            said(genba, found["other"], environment, folder)
            screen = said(genba, command, environment, folder)
    else:
        screen = said(genba, command, environment, ROOT)
    assert screen, f"{command} shows nothing"
    return screen


def said(genba: str, command: str, environment: dict[str, str], folder: Path) -> str:
    _, verb, *words = shlex.split(command)
    done = subprocess.run([genba, verb, *words], cwd=folder, env=environment, capture_output=True, text=True)
    # The doctor's answer may be that something is wrong.
    well = (0, 1) if verb == "doctor" else (0,)
    assert done.returncode in well, f"{command} ended with {done.returncode}:\n{done.stderr}"
    return done.stdout


@contextmanager
def folder_of_a_reader() -> Iterator[Path]:
    """It has all that the repository has, and no recordings; what is left there goes with it."""
    with tempfile.TemporaryDirectory() as name:
        for entry in ROOT.iterdir():
            if entry.suffix != ".genba":
                (Path(name) / entry.name).symlink_to(entry)
        yield Path(name)


@contextmanager
def running(program: str, environment: dict[str, str]) -> Iterator[int]:
    """Its number."""
    # A Python writes its line at once then, into a pipe, too.
    environment = {**environment, "PYTHONUNBUFFERED": "1"}
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(shlex.split(program), cwd=ROOT, env=environment, text=True, **pipes) as process:
        try:
            assert process.stdout and process.stdout.readline(), f"{program} ended before it was ready:\n{process.communicate()[1]}"
            yield process.pid
        finally:
            process.kill()


def chosen_lines(screen: str, pattern: str) -> str:
    lines: list[str] = []
    for line in screen.splitlines():
        if re.search(pattern, line):
            lines.append(line)
        elif lines[-1:] != ["…"]:
            lines.append("…")
    return "\n".join(lines)


def record(genba: str, python: str, run: str, folder: Path, options: list[str]) -> str:
    """What genba prints at the end of the run."""
    words = shlex.split(run)
    given = dict(word.split("=", 1) for word in words[: words.index("genba")])
    environment = {**os.environ, **given, "PYTHONPATH": os.pathsep.join(map(str, LIBRARIES)), "COLUMNS": str(COLUMNS)}
    command = [genba, "run", "--python", python, *options, *words[words.index("run") + 1 :]]
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, f"{run}: {done.returncode}\n{done.stderr}"
    return done.stderr


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
    main(sys.argv[1], sys.argv[2], chosen or [*(ROOT / page for page in PAGES), *sorted((ROOT / "docs/verdicts").glob("*.md"))])
