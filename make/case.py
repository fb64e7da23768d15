#!/usr/bin/env python3
"""`make case NAME=…`: runs a page of the casebook as it stands there, on this machine, and says whether genba still shows what the page says.

    make/case.py bytes-slice --genba target/release/genba --python ~/.pyenv/versions/3.13.0/bin/python3
    make/case.py bytes-slice … --update      and puts the output into the page

A page holds its commands, each with what its output must show (regular expressions, of whole lines' parts):

    <!-- case: genba run -o slow.genba casebook/bytes-slice/slow.py
    shows: b\\[i:\\]
    shows on 3.11 3.12: json
    -->
    ```console
    $ genba run -o slow.genba casebook/bytes-slice/slow.py
    …
    ```

The block is what `--update` writes; without one the output is only looked at. `<!-- case needs: … -->` has what must be there first, separated by
semicolons: `pip NAME==VERSION …`, `debian COMMAND:PACKAGE …`, `packages NAME …` (of Debian; their files are below `packages/`), `since 3.12`, `until 3.11`,
`headers Python.h` (of the interpreter), `answer SCRIPT` (a script of Python that ends with 0).
Owns: the marks, and a folder of its own where the commands run: recordings go there, `casebook` leads to the repository's. `genba` and `python` are those of the
options. Never: changes a figure, and opens nothing. Exit codes: 0, 1 (something is not shown any more, or a command failed), 2 (it cannot run here, in words).
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STEP = re.compile(r"<!-- case: (?P<command>[^\n]+)\n(?P<shows>(?:shows[^\n]*\n)*)-->\n(?P<block>```console\n.*?```\n)?", re.DOTALL)
SHOWS = re.compile(r"shows(?: on (?P<versions>[\d. ]+))?: (?P<pattern>.+)")
NEEDS = re.compile(r"<!-- case needs: (?P<needs>[^\n]+) -->")
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLUMNS = 104
CASE_SECONDS_MAX = 240
TRIES = 3
# Of a run of one program on a quiet machine there are some ten.
INVOLUNTARY_MIN = 100
CANNOT_RUN = 2


@dataclass(frozen=True)
class Step:
    command: str
    # Patterns, each with the minor versions that it is for (none: all).
    shows: tuple[tuple[str, tuple[str, ...]], ...]


class CannotRun(Exception):
    """In the words of its first argument."""


def steps(page: str) -> list[Step]:
    found = [
        Step(step["command"], tuple((shown["pattern"], tuple((shown["versions"] or "").split())) for shown in SHOWS.finditer(step["shows"])))
        for step in STEP.finditer(page)
    ]
    assert len(found) == page.count("<!-- case: "), "a mark is `<!-- case: COMMAND`, lines of `shows: PATTERN`, and `-->`, each at the beginning of a line"
    return found


def needs(page: str) -> dict[str, str]:
    found = NEEDS.search(page)
    return dict(need.strip().split(" ", 1) for need in found["needs"].split(";")) if found else {}


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


class Stage:
    """The folder where a case runs, and its PATH."""

    def __init__(self, folder: Path, genba: str, python: str, wanted: dict[str, str]) -> None:
        self.folder = folder
        self.version = subprocess.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True, check=True).stdout.strip()
        if ("since" in wanted and number(self.version) < number(wanted["since"])) or ("until" in wanted and number(self.version) > number(wanted["until"])):
            raise CannotRun(f"this case is for CPython {' '.join(f'{word} {wanted[word]}' for word in ('since', 'until') if word in wanted)}, and {python} is {self.version}")
        for pair in wanted.get("debian", "").split():
            command, _, package = pair.partition(":")
            if not shutil.which(command, path=f"{os.environ['PATH']}:/usr/sbin"):
                raise CannotRun(f"{command} is missing; hint: apt-get install {package or command}")
        commands = folder / "commands"
        commands.mkdir()
        (commands / "genba").symlink_to(Path(genba).resolve())
        for name in ("python", "python3"):
            (commands / name).symlink_to(python)
        (folder / "casebook").symlink_to(ROOT / "casebook")
        if "headers" in wanted:
            include = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"], capture_output=True, text=True, check=True)
            if not (Path(include.stdout.strip()) / wanted["headers"]).exists():
                raise CannotRun(f"{python} has no {wanted['headers']}; hint: take an interpreter with its headers")
        if "answer" in wanted:
            asked = subprocess.run([python, *wanted["answer"].split()], cwd=ROOT, capture_output=True, text=True)
            if asked.returncode != 0:
                raise CannotRun((asked.stderr.strip().splitlines() or [f"python {wanted['answer']} fails"])[-1])
        if "packages" in wanted:
            (folder / "packages").symlink_to(unpacked(wanted["packages"]))
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("GENBA_")}
        self.environment |= {"PATH": f"{commands}:{os.environ['PATH']}:/usr/sbin", "COLUMNS": str(COLUMNS), "PYTHONDONTWRITEBYTECODE": "1"}
        libraries = [ROOT / "python", *([packages(python, self.version, wanted["pip"], folder / "packages")] if "pip" in wanted else [])]
        self.environment["PYTHONPATH"] = os.pathsep.join(map(str, libraries))

    def forget(self, before: set[Path]) -> None:
        """What a command left in the folder: it would find it there."""
        for made in set(self.folder.iterdir()) - before:
            if made.is_dir() and not made.is_symlink():
                shutil.rmtree(made)
            else:
                made.unlink()

    def run(self, step: Step, seconds: float) -> tuple[int, str]:
        """The exit code, and what a terminal shows."""
        done = subprocess.run(
            ["bash", "-c", step.command],
            cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds,
        )
        said = ANSI.sub("", done.stdout.decode(errors="replace"))
        return done.returncode, said.replace(f"{self.folder}/", "").replace(str(ROOT) + "/", "")


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """A folder that is whole or not there."""
    folder = ROOT / "build/cases" / re.sub(r"[^\w.=-]+", "_", name)
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        half = Path(tempfile.mkdtemp(dir=folder.parent))
        try:
            make(half)
            if not folder.exists():
                half.rename(folder)
        finally:
            shutil.rmtree(half, ignore_errors=True)
    return folder


def done_or_cannot(command: list[str], folder: Path, what: str, environment: dict[str, str] | None = None) -> None:
    print(f"case: {what}", file=sys.stderr)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotRun(f"{what}: {''.join((done.stderr or done.stdout).strip().splitlines()[-1:])}")


def packages(python: str, version: str, wanted: str, debian: Path) -> Path:
    """From PyPI. What is built here finds the headers and libraries of Debian's packages, and its results find the libraries when they run."""
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", ".", *wanted.split()]
    environment = dict(os.environ)
    if debian.exists():
        libraries = debian.resolve() / "usr/lib/x86_64-linux-gnu"
        environment |= {
            "PKG_CONFIG_PATH": str(libraries / "pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": str(debian.resolve()),
            "LDFLAGS": f"-L{libraries} -Wl,-rpath,{libraries}",
        }
    return made_once(f"{version}_{wanted}", lambda folder: done_or_cannot(command, folder, f"pip install {wanted}", environment))


def unpacked(wanted: str) -> Path:
    """The files of Debian's packages, which are installed nowhere."""
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        raise CannotRun(f"Debian's packages {wanted} need apt-get and dpkg")

    def make(folder: Path) -> None:
        done_or_cannot(["apt-get", "download", *wanted.split()], folder, f"apt-get download {wanted}")
        for package in list(folder.glob("*.deb")):
            done_or_cannot(["dpkg", "-x", str(package), "."], folder, f"dpkg -x {package.name}")
            package.unlink()

    return made_once(f"debian_{wanted}", make)


def was_disturbed(said: str) -> bool:
    """Runs of a bench lost the CPU again and again, or a recording lacks ticks for want of one."""
    lost = max((int(number.replace(",", "")) for number in re.findall(r"([\d,]+) involuntary", said)), default=0)
    return lost >= INVOLUNTARY_MIN or "for the reason `late`" in said


def missing(step: Step, said: str, version: str) -> list[str]:
    return [pattern for pattern, versions in step.shows if (not versions or version in versions) and not re.search(pattern, said, re.MULTILINE)]


def run(name: str, genba: str, python: str, update: bool) -> int:
    page = ROOT / "casebook" / name / "README.md"
    if not page.exists():
        raise CannotRun(f"no case {name}; there are: {', '.join(sorted(one.parent.name for one in ROOT.glob('casebook/*/README.md')))}")
    text = page.read_text()
    outputs: list[str] = []
    failures: list[str] = []
    end = time.monotonic() + CASE_SECONDS_MAX
    with tempfile.TemporaryDirectory(prefix="genba-case-") as folder:
        stage = Stage(Path(folder), genba, python, needs(text))
        for step in steps(text):
            print(f"$ {step.command}", flush=True)
            try:
                before = set(stage.folder.iterdir())
                for left in reversed(range(TRIES)):
                    code, said = stage.run(step, max(1.0, end - time.monotonic()))
                    # By what genba itself says of the machine; another answer than that of a quiet one is no news then.
                    if left == 0 or code != 0 or not missing(step, said, stage.version) or not was_disturbed(said):
                        break
                    print(f"{said}\nonce more: others took the CPU from it", flush=True)
                    stage.forget(before)
            except subprocess.TimeoutExpired:
                failures.append(f"not done within the {CASE_SECONDS_MAX} s of a case: {step.command}")
                break
            print(said, flush=True)
            outputs.append(said)
            if code != 0:
                failures.append(f"exit code {code}: {step.command}")
            failures += [f"not shown any more: {pattern}\n  by: {step.command}" for pattern in missing(step, said, stage.version)]
    for failure in failures:
        print(f"error: {name}: {failure}", file=sys.stderr)
    if failures:
        print(f"hint: casebook/{name}/README.md says what should be there", file=sys.stderr)
        return 1
    if update:
        given = iter(outputs)
        page.write_text(STEP.sub(lambda step: filled(step, next(given)), text))
    print(f"case {name}: {len(outputs)} commands show what the page says", flush=True)
    return 0


def filled(step: re.Match[str], said: str) -> str:
    if not step["block"]:
        return step[0]
    mark = step[0][: -len(step["block"])]
    return f"{mark}```console\n$ {step['command']}\n{said.strip()}\n```\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--genba", default=str(ROOT / "target/release/genba"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--update", action="store_true", help="put the output into the page")
    options = parser.parse_args()
    worst = 0
    for name in options.names:
        try:
            worst = max(worst, run(name, options.genba, options.python, options.update))
        except CannotRun as why:
            print(f"case {name} cannot run here: {why}", file=sys.stderr)
            worst = max(worst, CANNOT_RUN)
    return worst


if __name__ == "__main__":
    sys.exit(main())
