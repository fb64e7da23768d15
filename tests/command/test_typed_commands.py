"""The first minute as a script: every line in the code blocks of README.md and docs/getting-started.md is typed, in order, in a folder
with a new user's programs and the wheel installed. Each one does what the page says, and README's screen comes out again.

Owns: what a reader has beside genba (the programs, pytest, gunicorn, a browser), and the only lines that are replaced, in words.
Never: a line that no rule here knows; a page that gets one fails until the rule is written.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import interpreters
from recording import REPOSITORY
from wheel import wheel as wheel  # noqa: PLC0414  (fixture)

pytestmark = pytest.mark.measures

COLUMNS = 104
# A script, a WSGI application, and a module for pytest.
APP = """\
def app(environ, start_response):
    start_response("200 OK", [])
    return [b"done"]

def load():
    return sum(number * number for number in range(5_000_000))

if __name__ == "__main__":
    load()
"""
TESTS = "import app\n\ndef test_load():\n    assert app.load() > 0\n"
# The packages that the pages' commands need beside genba, and where they come from here.
LIBRARIES = REPOSITORY / "build/tools/site-packages"
STARTERS = {"pytest": "from pytest import console_main as main", "gunicorn": "from gunicorn.app.wsgiapp import run as main"}
REPLACED = {
    "pip install .": "the built wheel is installed: the build has tests of its own",
    "make demo": "it builds; that `make` knows the verb is what is tried",
    "make test": "it runs this test",
    "make test-all": "it runs this test",
    "genba top": "it needs a terminal: tests/command/test_top.py types into one",
    "make": "it is run in the checkout, which a wheel does not have",
}
# A server does not end by itself: it is asked to when it has said this.
SERVERS = {
    "genba run gunicorn -w 2 app:app": re.compile(r"(Booting worker.*){2}", re.DOTALL),
    "genba view": re.compile("Ctrl-C ends it"),
    "genba run --view app.py": re.compile("Ctrl-C ends it"),
}
# This one serves the lines below it, until the page ends.
KEPT_SERVER, SERVES = "genba serve", re.compile("Ctrl-C ends it")


@dataclass
class Reader:
    """A user's folder, and what the commands leave there."""

    folder: Path
    environment: dict[str, str]
    kept: list[subprocess.Popen[str]] = field(default_factory=list)

    def serves(self) -> None:
        command = KEPT_SERVER.split()
        server = subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        self.kept.append(server)
        self.wait_for(server, SERVES)

    def ends(self) -> None:
        for server in self.kept:
            server.send_signal(signal.SIGINT)
            _, stderr = server.communicate(timeout=60)
            assert server.returncode == 0, stderr

    def types(self, line: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", "-c", f"set -o pipefail; {line}"]
        with subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True,
        ) as process:
            began = self.wait_for(process, SERVERS[line]) if line in SERVERS else ""
            # The address comes last: until it is there, Ctrl-C may come before it.
            address = process.stdout.readline() if "view" in line and began and process.stdout else ""
            if began:
                os.killpg(process.pid, signal.SIGINT)
            stdout, stderr = process.communicate(timeout=120)
        done = subprocess.CompletedProcess(command, process.returncode, address + stdout, began + stderr)
        assert done.returncode == 0, f"{line}: exit code {done.returncode}\n{done.stderr}"
        return done

    @staticmethod
    def wait_for(process: subprocess.Popen[str], words: re.Pattern[str]) -> str:
        said = ""
        while not words.search(said):
            line = process.stderr.readline() if process.stderr else ""
            assert line, f"ended before it said {words.pattern}:\n{said}"
            said += line
        return said

    def recordings(self) -> set[str]:
        return {path.name for path in self.folder.glob("*.genba")}


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of a virtual environment with the wheel, pytest and gunicorn."""
    python = next((one for one in reversed(interpreters.from_pyenv()) if one.minor == "3.13"), interpreters.from_pyenv()[-1])
    venv = tmp_path_factory.mktemp("reader") / "venv"
    # The pip of the tests: one in there would first have to be installed.
    subprocess.run([python.path, "-m", "venv", "--without-pip", venv], check=True)
    subprocess.run([sys.executable, "-m", "pip", "--python", venv / "bin/python", "install", "--quiet", "--no-index", wheel], check=True)
    packages = next(venv.glob("lib/python3.*/site-packages"))
    for library in LIBRARIES.iterdir():
        (packages / library.name).symlink_to(library)
    for name, statement in STARTERS.items():
        starter = venv / "bin" / name
        starter.write_text(f"#!{venv}/bin/python\nimport sys\n{statement}\nsys.exit(main())\n")
        starter.chmod(0o755)
    browser = venv / "bin/xdg-open"
    browser.write_text('#!/bin/sh\necho "$1" >> "$HOME/opened"\n')
    browser.chmod(0o755)
    return venv / "bin"


@pytest.fixture
def reader(installed: Path, tmp_path: Path) -> Iterator[Reader]:
    home, folder = tmp_path / "home", tmp_path / "shop"
    (home / ".config/fish/completions").mkdir(parents=True)
    folder.mkdir()
    (folder / "app.py").write_text(APP)
    (folder / "test_app.py").write_text(TESTS)
    environment = {
        "PATH": f"{installed}:/usr/bin:/bin", "HOME": str(home), "VIRTUAL_ENV": str(installed.parent), "COLUMNS": str(COLUMNS),
        "GUNICORN_CMD_ARGS": "--bind 127.0.0.1:0", "DISPLAY": ":0", "TERM": "dumb", "LC_ALL": "C.UTF-8", "MANROFFOPT": "-c",
    }
    reader = Reader(folder, environment)
    yield reader
    reader.ends()


def lines_of(page: Path) -> list[str]:
    """What stands in code blocks: indented ones, and the commands of `console` ones."""
    lines: list[str] = []
    in_console = in_block = False
    before = ""
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            in_console = line == "```console"
        elif in_console:
            lines += [line] if line.startswith("$ ") else []
        elif line.startswith("    ") and (in_block or not before.strip()):
            in_block = True
            lines.append(line.removeprefix("    "))
        else:
            in_block = False
        before = line
    return lines


def command_of(line: str) -> str:
    return re.split(r" {2,}#| # ", line)[0].strip().removeprefix("$ ")


def options_of(line: str) -> list[str]:
    """`--interval 1ms, --rate 1000    words`: each of them; of `--source all|hit` one for each value."""
    options: list[str] = []
    for option in re.split(r" {3,}", line)[0].split(", "):
        name, *values = option.split(" ", 1)
        options += [f"{name} {value}" for value in values[0].split("|")] if values else [name]
    return options


def test_readme(reader: Reader) -> None:
    shutil.copytree(REPOSITORY / "casebook", reader.folder / "casebook")
    # What a reader has from elsewhere: recordings of two versions of a program, and another profiler's log.
    for name in ("old", "new"):
        reader.types(f"genba run --quiet -o {name}.genba app.py")
    shutil.copy(REPOSITORY / "testdata/imports/format-7-plain.vmprof", reader.folder / "app.vmprof")
    shutil.copy(REPOSITORY / "testdata/imports/cprofile-3.13.0.prof", reader.folder / "app.prof")
    commands = type_all(reader, REPOSITORY / "README.md")
    assert len(commands) >= 10 and {"genba check", "genba html --open", "genba report app.vmprof"} <= set(commands), commands
    assert len(reader.kept) == 1 and sum("push" in command for command in commands) == 2, commands


def test_getting_started(reader: Reader) -> None:
    commands = type_all(reader, REPOSITORY / "docs/getting-started.md")
    assert len(commands) > 25 and "genba run pytest -x" in commands, commands
    assert {"app.genba", "app-2.genba", "pytest.genba", "pytest-2.genba", "gunicorn.genba"} <= reader.recordings()
    assert (Path(reader.environment["HOME"]) / ".config/fish/completions/genba.fish").stat().st_size > 0


def type_all(reader: Reader, page: Path) -> list[str]:
    """Types the page, and gives what was typed."""
    lines = lines_of(page)
    typed: list[str] = []
    program = [line for line in lines if line.startswith(("import genba", "with genba"))]
    for line in lines:
        command = command_of(line)
        if line.startswith("-"):
            aside = Reader(reader.folder / "aside", reader.environment)
            aside.folder.mkdir(exist_ok=True)
            for option in options_of(line):
                (aside.folder / "app.py").write_text(APP)
                typed.append(f"genba run {option.replace('FILE', 'named.genba')} app.py")
                done = aside.types(typed[-1])
                assert ("ticks " in done.stderr) == (option != "--quiet"), (option, done.stderr)
        elif line == program[-1:] or line in program[:1]:
            (reader.folder / "records.py").write_text("from app import load\n" + "\n".join(program) + "\n")
            reader.types("python records.py")
            assert "load.genba" in reader.recordings()
        elif line in program:
            continue
        elif command in REPLACED:
            if command.startswith("make"):
                subprocess.run(["make", "--dry-run", *command.split()[1:]], cwd=REPOSITORY, check=True, capture_output=True)
        elif command == KEPT_SERVER:
            reader.serves()
        else:
            assert command.startswith(("genba ", "source <(genba ")), f"{page.name} has a line that this test has no rule for: {line!r}"
            typed.append(command)
            type_one(reader, command)
            # `# one page, app.html`
            for promised in re.findall(r"[\w-]+\.(?:html|genba)\b", line.removeprefix("$ ").removeprefix(command)):
                assert (reader.folder / promised).exists(), (line, os.listdir(reader.folder))
    return typed


def type_one(reader: Reader, command: str) -> None:
    before = reader.recordings()
    done = reader.types(command)
    words = command.split()
    if words[:2] == ["genba", "run"]:
        assert len(reader.recordings() - before) == 1, (command, done.stderr)
        assert "\nticks " in done.stderr and "\nrecorded " in done.stderr, done.stderr
    elif words[:2] == ["genba", "html"]:
        opened = (Path(reader.environment["HOME"]) / "opened").read_text()
        assert re.search(r"wrote (\S+\.html) ", done.stderr), done.stderr
        assert opened.strip().endswith(".html"), opened
    elif "-o" in words and words[words.index("-o") + 1] != "-":
        assert (reader.folder / words[words.index("-o") + 1]).stat().st_size > 0, done.stderr
    elif words[0] == "genba" and ">" not in words:
        assert done.stdout.strip(), (command, done.stderr)
    if command == "genba check":
        assert done.stdout.endswith("every block is intact, both laws hold\n"), done.stdout


SCREEN = re.compile(r"<!-- `make screens`: (?P<run>[^;\n]+?)(?:; (?P<read>[^;\n]+))? -->\n```console\n(?P<screen>.*?)\n```\n", re.DOTALL)
READING = "docs/reading.md"


def screens_of(page: str) -> list[tuple[re.Match[str], list[str]]]:
    """Each with the lines that genba printed."""
    found = SCREEN.finditer((REPOSITORY / page).read_text())
    return [(screen, [line for line in screen["screen"].splitlines() if not line.startswith("$ ")]) for screen in found]


def test_the_screen_of_readme_comes_out_again(reader: Reader) -> None:
    shutil.copytree(REPOSITORY / "casebook", reader.folder / "casebook")
    [(screen, printed)] = screens_of("README.md")
    assert screen["read"] is None and "--quiet" not in screen["run"], screen["run"]
    said = reader.types(screen["run"]).stderr
    assert masked(said.splitlines()) == masked(printed), said
    # Another page reads a recording of the same program.
    [(screen, printed)] = screens_of(READING)
    assert screen["run"].replace(" --quiet", "") == screens_of("README.md")[0][0]["run"]
    said = reader.types(screen["read"]).stdout
    assert masked(said.splitlines()) == masked(printed), said


@pytest.mark.parametrize("page", ["one-place", "recursion"])
def test_the_verdict_of_a_page_comes_out_again(reader: Reader, page: str) -> None:
    shutil.copytree(REPOSITORY / "tests/verdicts", reader.folder / "tests/verdicts")
    screen, printed = screens_of(f"docs/verdicts/{page}.md")[0]
    reader.types(screen["run"])
    said = reader.types(screen["read"]).stdout
    assert masked(verdict_block(said.splitlines())) == masked(verdict_block(printed)), said


def verdict_block(lines: list[str]) -> list[str]:
    """Down to the empty line in front of the rows."""
    return lines[: lines.index("")]


def masked(lines: list[str]) -> list[str]:
    """What is the same in each run: the header's and the verdict's words, the first row with its source, mark and chain, the last row, and where
    the recording is. Numbers are `#`; what a busy machine adds to the header goes, and with it that the header has a second line then."""
    while lines[1].startswith("  "):
        lines = [f"{lines[0]} {lines[1].strip()}", *lines[2:]]
    rows = [number for number, line in enumerate(lines) if re.match(r" *\d+\.\d %", line)]
    kept = [*lines[: rows[1]], lines[rows[-1]], *(line for line in lines if line.startswith("recorded "))] if rows else lines
    header = [re.sub(r" \([^)]*\)|, (?:mostly|later) \S+ ms", "", line) for line in kept[:2]]
    words = [re.sub(r"[\d.,]+", "#", line) for line in [*header, *kept[2:]]]
    return [re.sub(r"# (?:ms|s|µs)\b", "# s", re.sub(r" +", " ", line)) for line in words]
