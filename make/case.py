#!/usr/bin/env python3
"""`make case NAME=…`: runs a page of the casebook as it stands there, on this machine, and says whether genba still shows what the page says.

    make/case.py bytes-slice --genba target/release/genba --python ~/.pyenv/versions/3.13.0/bin/python3
    make/case.py bytes-slice … --update      and puts the output into the page
    make/case.py bytes-slice --look          runs nothing, and looks at what the page has
    make/case.py bytes-slice … --picture     runs the command of the page's picture, and makes it anew

A page holds its commands, each with what its output must show (regular expressions, of whole lines' parts):

    <!-- case: genba run -o slow.genba casebook/bytes-slice/slow.py
    shows: b\\[i:\\]
    shows on 3.11 3.12: json
    shows 80 to 100: ^ *([\\d.]+) % .* slow\\.py:9 before
    -->
    ```console
    $ genba run -o slow.genba casebook/bytes-slice/slow.py
    …
    ```

With bounds (`80 to 100`) the pattern's group must be a number between them; of two groups, the quotient must. `--update` writes the block; where there is none, only
the patterns count. It writes the figures in the text, too: `<!-- taken: PATTERN -->7.39<!-- -->` has the group, or the quotient of two, from the first place of the
page's outputs where the pattern fits. `<!-- case needs: … -->` has what must be there first, separated by
semicolons: `pip NAME==VERSION …`, `debian COMMAND:PACKAGE …`, `packages NAME …` (of Debian; their files are below `packages/`), `since 3.12`, `until 3.11`,
`headers Python.h` (of the interpreter), `answer SCRIPT` (a script of Python that ends with 0). A line
`needs: COMMAND:PACKAGE …` in a step's mark is for that step only: where the command is missing it is skipped, and the page keeps what it has.
Behind it a line `ends: 0 1` has the exit codes of a command that tells something by them; without, 0 is the one that is well. Then a line `noise: its own`
says that the command's times differ by chance, whatever the machine does.
`<!-- picture: VIEW WEIGHT HEIGHT: COMMAND -->` above an image: COMMAND writes picture.genba, and the image is that view of its page, at most HEIGHT pixels high.
Owns: the marks, and a folder of its own where the commands run: recordings go there, `casebook` leads to the repository's. `genba` and `python`
are those of the options. After several cases it prints what each took, and all of them together fail after 20 minutes. With `--update` the index has
the time of each case, and the sum. Never: changes a figure, and opens nothing.
A command on a disturbed machine is tried three times at most; of tries that were all disturbed the quietest counts, with a warning.
Exit codes: 0, 1 (something is not shown any more, a command failed, or it took too long), 2 (it cannot run here, in words).
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STEP = re.compile(r"<!-- case: (?P<command>[^\n]+)\n(?:needs: (?P<needs>[^\n]+)\n)?(?:ends: (?P<ends>[\d ]+)\n)?(?P<chance>noise: its own\n)?(?P<shows>(?:shows[^\n]*\n)*)-->\n(?P<block>```console\n.*?```\n)?", re.DOTALL)
SHOWS = re.compile(r"shows(?: on (?P<versions>[\d. ]+?))?(?: (?P<low>[\d.]+) to (?P<high>[\d.]+))?: (?P<pattern>.+)")
TAKEN = re.compile(r"(?P<mark><!-- taken: (?P<pattern>.+?) -->)(?P<figure>[^<]*)<!-- -->")
NEEDS = re.compile(r"<!-- case needs: (?P<needs>[^\n]+) -->")
PICTURE = re.compile(r"<!-- picture: (?P<view>[a-z]+) (?P<weight>[a-z]+) (?P<height>\d+): (?P<command>[^\n]+) -->\n!\[[^\n]+\]\((?P<file>[\w.-]+\.png)\)\n")
# How long each case takes, in the index, and all of them.
TOOK = re.compile(r"<!-- took (?P<name>[\w-]+) -->(?:(?P<seconds>\d+) s)?<!-- -->")
ALL = re.compile(r"<!-- all -->[^<]*<!-- -->")
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLUMNS = 104
# Of its commands. A run that is thrown away, because others took the CPU from it, does not count, nor do downloads.
CASE_SECONDS_MAX = 120
# The same of all cases, one after the other.
ALL_SECONDS_MAX = 20 * 60
TRIES = 3
# Of a run of one program on a quiet machine there are some ten. Processes that give the CPU to each other have hundreds, and more voluntary ones.
INVOLUNTARY_MIN = 100
# On a quiet machine it is 1 to 3, and 5 with many processes.
NOISE_PERCENT_MIN = 8
# Of the ticks: on a quiet machine nearly all give a sample.
UNSAMPLED_MIN = 0.1
CANNOT_RUN = 2


@dataclass(frozen=True)
class Shown:
    pattern: str
    # Minor versions that it is for; none: all.
    versions: tuple[str, ...]
    bounds: tuple[float, float] | None

    def missing(self, said: str) -> str | None:
        """Why it is not shown, if it is not."""
        if self.bounds is None:
            return None if re.search(self.pattern, said, re.MULTILINE) else f"not shown any more: {self.pattern}"
        low, high = self.bounds
        found = figures(self.pattern, said)
        if any(low <= plain(figure) <= high for figure in found):
            return None
        return f"not from {low:g} to {high:g}, but {', '.join(found) or 'nowhere'}: {self.pattern}"


@dataclass(frozen=True)
class Step:
    command: str
    # Commands with their packages of Debian, and what the page has where one is missing.
    needs: str
    shows: tuple[Shown, ...]
    block: str
    # Exit codes that are well.
    ends: tuple[int, ...] = (0,)
    # Its times differ by chance: a bench's noise says nothing of the machine.
    has_own_noise: bool = False

    @property
    def on_the_page(self) -> str:
        """Below the line of the command."""
        return "\n".join(self.block.splitlines()[2:-1])


@dataclass(frozen=True)
class Try:
    code: int
    said: str
    seconds: float
    # What of the step's patterns, with why.
    missing: tuple[str, ...]


class CannotRun(Exception):
    """In the words of its first argument."""


def steps(page: str) -> list[Step]:
    found = [
        Step(
            step["command"], step["needs"] or "", tuple(map(shown, step["shows"].splitlines())), step["block"] or "",
            tuple(map(int, (step["ends"] or "0").split())), step["chance"] is not None,
        )
        for step in STEP.finditer(page)
    ]
    assert len(found) == page.count("<!-- case: "), "a mark is `<!-- case: COMMAND`, perhaps a line `needs: …`, perhaps a line `ends: 0 1`, perhaps a line `noise: its own`, lines of `shows: PATTERN`, and `-->`, each at the beginning of a line"
    return found


def shown(line: str) -> Shown:
    parts = SHOWS.fullmatch(line)
    assert parts, f"`shows: PATTERN`, `shows on 3.11: PATTERN` or `shows 1 to 2: PATTERN`, not {line}"
    return Shown(parts["pattern"], tuple((parts["versions"] or "").split()), (float(parts["low"]), float(parts["high"])) if parts["low"] else None)


def figures(pattern: str, said: str) -> list[str]:
    """Each group as it is written; the quotient of two with three digits."""
    found = (match.groups() for match in re.finditer(pattern, said, re.MULTILINE))
    return [groups[0] if len(groups) == 1 else quotient(*map(plain, groups)) for groups in found]


def quotient(one: float, other: float) -> str:
    if other == 0:
        return "inf"
    return f"{one / other:.3g}" if one < 100 * other else f"{one / other:,.0f}"


def plain(figure: str) -> float:
    return float(figure.replace(",", ""))


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
        if lacking := lacks(wanted.get("debian", "")):
            raise CannotRun(lacking)
        commands = folder / "commands"
        commands.mkdir()
        (commands / "genba").symlink_to(Path(genba).resolve())
        for name in ("python", "python3"):
            (commands / name).symlink_to(python)
        (folder / "casebook").symlink_to(ROOT / "casebook")
        (folder / ".tries").mkdir()
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

    def set_aside(self, before: set[Path]) -> Path:
        """What a command left in the folder: it would find it there."""
        aside = Path(tempfile.mkdtemp(dir=self.folder / ".tries"))
        for made in set(self.folder.iterdir()) - before:
            made.rename(aside / made.name)
        return aside

    def put_back(self, aside: Path) -> None:
        for made in list(aside.iterdir()):
            made.rename(self.folder / made.name)

    def run(self, step: Step, seconds: float) -> tuple[int, str]:
        """The exit code, and what a terminal shows. A command that is not done in time ends with all that it started."""
        with subprocess.Popen(
            ["bash", "-c", step.command],
            cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        ) as shell:
            try:
                printed, _ = shell.communicate(timeout=seconds)
            except BaseException:
                # Its servers and its programs in the background, too; no key of the terminal reaches them.
                os.killpg(shell.pid, signal.SIGKILL)
                raise
        said = ANSI.sub("", printed.decode(errors="replace"))
        return shell.returncode, said.replace(f"{self.folder}/", "").replace(str(ROOT) + "/", "")


def lacks(wanted: str) -> str | None:
    for pair in wanted.split():
        command, _, package = pair.partition(":")
        if not shutil.which(command, path=f"{os.environ['PATH']}:/usr/sbin"):
            return f"{command} is missing; hint: apt-get install {package or command}"
    return None


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


def disturbance(step: Step, said: str) -> tuple[float, str]:
    """By what genba itself says of the machine: 1 or more where runs of a bench lost the CPU again and again, or a recording lacks samples for want of one."""
    switches = [(plain(given or "0"), plain(taken)) for given, taken in re.findall(r"(?:([\d,]+) voluntary, )?([\d,]+) involuntary", said)]
    lost = max((taken for given, taken in switches if taken > given), default=0.0)
    noises = [] if step.has_own_noise else re.findall(r"noise: two equal commands seem up to ([\d.]+) % apart", said)
    noise = max(map(float, noises), default=0.0)
    ticks = [(plain(due), plain(sampled)) for due, sampled in re.findall(r"^ *ticks ([\d,]+) = sampled ([\d,]+)", said, re.MULTILINE)]
    unsampled = max((1 - sampled / due for due, sampled in ticks if due), default=0.0)
    return max(
        (lost / INVOLUNTARY_MIN, f"{lost:,.0f} involuntary switches"),
        (noise / NOISE_PERCENT_MIN, f"a noise of {noise:g} %"),
        (unsampled / UNSAMPLED_MIN, f"{100 * unsampled:.0f} % of the ticks without a sample"),
    )


def was_disturbed(step: Step, said: str) -> bool:
    return disturbance(step, said)[0] >= 1


def missing(step: Step, said: str, version: str) -> list[str]:
    of_version = (shows for shows in step.shows if not shows.versions or version in shows.versions)
    return [f"{why}\n  by: {step.command}" for shows in of_version if (why := shows.missing(said))]


def not_said(text: str, said: str) -> list[str]:
    """Figures of the text that no output has."""
    return [taken["pattern"] for taken in TAKEN.finditer(text) if not figures(taken["pattern"], said)]


def usual_python() -> str:
    """pyenv's newest 3.13, as on the pages; where there is none, the interpreter that runs this."""
    found = Path.home().glob(".pyenv/versions/3.13.*/bin/python3")
    newest = max(found, key=lambda path: [int(part) if part.isdigit() else 0 for part in path.parts[-3].split(".")], default=sys.executable)
    return str(newest)


def cases() -> list[str]:
    return sorted(one.parent.name for one in ROOT.glob("casebook/*/README.md"))


def page_of(name: str) -> Path:
    page = ROOT / "casebook" / name / "README.md"
    if not page.exists():
        raise CannotRun(f"no case {name}; there are: {', '.join(cases())}")
    return page


def tried(name: str, stage: Stage, step: Step, update: bool, seconds_max: float) -> tuple[Try, float]:
    """The try that counts, and the seconds of the others. A step is tried again while others take the CPU from it; if they always do, the quietest try counts."""
    before = set(stage.folder.iterdir())
    tries: list[tuple[Try, Path]] = []
    while True:
        began = time.monotonic()
        code, said = stage.run(step, seconds_max)
        one = Try(code, said, time.monotonic() - began, tuple(missing(step, said, stage.version)))
        lost = sum(other.seconds for other, _ in tries)
        # Another answer than that of a quiet machine is no news then, and no screen for a page.
        is_answer = not update and not one.missing
        if code not in step.ends or is_answer or not was_disturbed(step, said):
            return one, lost
        tries.append((one, stage.set_aside(before)))
        if len(tries) == TRIES:
            break
        print(f"{said}\nonce more: others took the CPU from it", flush=True)
    kept, aside = min(tries, key=lambda of: (len(of[0].missing), disturbance(step, of[0].said)))
    # Later commands read the files that belong to what it said.
    stage.put_back(aside)
    print(f"warning: {name}: others took the CPU from each of {TRIES} tries; in the quietest: {disturbance(step, kept.said)[1]}\n  by: {step.command}", file=sys.stderr)
    return kept, lost + one.seconds - kept.seconds


def run(name: str, genba: str, python: str, update: bool, seconds_max: float) -> tuple[int, float]:
    """The exit code, and the seconds that count."""
    page = page_of(name)
    text = page.read_text()
    outputs: list[str] = []
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="genba-case-") as folder:
        stage = Stage(Path(folder), genba, python, needs(text))
        began, lost = time.monotonic(), 0.0
        for step in steps(text):
            print(f"$ {step.command}", flush=True)
            if lacking := lacks(step.needs):
                print(f"skipped: {lacking}\n", flush=True)
                outputs.append(step.on_the_page)
                continue
            try:
                one, lost_now = tried(name, stage, step, update, max(1.0, began + lost + seconds_max - time.monotonic()))
            except subprocess.TimeoutExpired:
                failures.append(f"not done within the {seconds_max:g} s of a case: {step.command}")
                break
            lost += lost_now
            print(one.said, flush=True)
            outputs.append(one.said)
            if one.code not in step.ends:
                failures.append(f"exit code {one.code}: {step.command}")
            failures += one.missing
        else:
            failures += [f"a figure of the text that nothing says: {pattern}" for pattern in not_said(text, "\n".join(outputs))]
        seconds = time.monotonic() - began - lost
    if failures:
        return failed(name, failures), seconds
    if update:
        given, every = iter(outputs), "\n".join(outputs)
        text = STEP.sub(lambda step: filled(step, next(given)), text)
        page.write_text(TAKEN.sub(lambda taken: f"{taken['mark']}{figures(taken['pattern'], every)[0]}<!-- -->", text))
    print(f"case {name}: {len(outputs)} commands show what the page says, {seconds:.0f} s", flush=True)
    return 0, seconds


def look(name: str) -> int:
    """Runs nothing: the page as it is, of the version that its screens name."""
    text = page_of(name).read_text()
    version = re.search(r"^CPython (\d+\.\d+)", text, re.MULTILINE)
    seen = [step for step in steps(text) if step.block]
    failures = [why for step in seen for why in missing(step, step.on_the_page, version[1] if version else "")]
    every = "\n".join(step.on_the_page for step in seen)
    failures += [
        f"a figure of the text is {taken['figure']}, and the screens have {', '.join(found) or 'none'}: {taken['pattern']}"
        for taken in TAKEN.finditer(text)
        if taken["figure"] not in (found := figures(taken["pattern"], every)[:1])
    ]
    if failures:
        return failed(name, failures)
    print(f"case {name}: {len(seen)} screens of the page show what it says", flush=True)
    return 0


def picture(name: str, genba: str, python: str) -> int:
    page = page_of(name)
    text = page.read_text()
    wanted = PICTURE.search(text)
    if wanted is None:
        raise CannotRun("its page has no mark `<!-- picture: VIEW WEIGHT HEIGHT: COMMAND -->` with an image below it")
    with tempfile.TemporaryDirectory(prefix="genba-case-") as folder:
        stage = Stage(Path(folder), genba, python, needs(text))
        try:
            code, said = stage.run(Step(wanted["command"], "", (), ""), CASE_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            return failed(name, [f"not done within {CASE_SECONDS_MAX} s: {wanted['command']}"])
        shown = Path(folder) / "picture.html"
        if code != 0 or subprocess.run([genba, "html", "-o", shown, Path(folder) / "picture.genba"]).returncode != 0:
            return failed(name, [f"exit code {code}: {wanted['command']}\n{said}"])
        command = ["node", ROOT / "tests/page/case-picture.mjs", shown, page.parent / wanted["file"], wanted["view"], wanted["weight"], wanted["height"]]
        return subprocess.run(command).returncode


def note_time(name: str, seconds: float) -> None:
    """In the index, with the sum, once each case has its time."""
    index = ROOT / "casebook/README.md"
    if not index.exists():
        return
    text = TOOK.sub(lambda mark: f"<!-- took {name} -->{round(seconds)} s<!-- -->" if mark["name"] == name else mark[0], index.read_text())
    each = {mark["name"]: mark["seconds"] for mark in TOOK.finditer(text)}
    if set(each) == set(cases()) and all(each.values()):
        minutes, rest = divmod(sum(map(int, each.values())), 60)
        text = ALL.sub(f"<!-- all -->{minutes} min {rest} s<!-- -->", text)
    index.write_text(text)


def failed(name: str, failures: list[str]) -> int:
    for failure in failures:
        print(f"error: {name}: {failure}", file=sys.stderr)
    print(f"hint: casebook/{name}/README.md says what should be there", file=sys.stderr)
    return 1


def filled(step: re.Match[str], said: str) -> str:
    if not step["block"]:
        return step[0]
    mark = step[0][: -len(step["block"])]
    said = said.strip()
    return "\n".join([f"{mark}```console", f"$ {step['command']}", *([said] if said else []), "```\n"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--genba", default=str(ROOT / "target/release/genba"))
    parser.add_argument("--python", default=usual_python(), help="the interpreter of the programs (default: pyenv's newest 3.13, else the one that runs this)")
    parser.add_argument("--update", action="store_true", help="put the output into the page")
    parser.add_argument("--look", action="store_true", help="run nothing: whether the screens on the page show what it says")
    parser.add_argument("--seconds", type=float, default=CASE_SECONDS_MAX, help="a case may take that long (default: %(default)s)")
    parser.add_argument("--all-seconds", type=float, default=ALL_SECONDS_MAX, help="all cases together may take that long (default: %(default)s)")
    parser.add_argument("--picture", action="store_true", help="make the page's picture, and run nothing else")
    options = parser.parse_args()
    worst = 0
    took: dict[str, float] = {}
    for name in options.names:
        took[name] = 0.0
        try:
            if options.picture:
                code = picture(name, options.genba, options.python)
            elif options.look:
                code = look(name)
            else:
                code, took[name] = run(name, options.genba, options.python, options.update, options.seconds)
        except CannotRun as why:
            print(f"case {name} cannot run here: {why}", file=sys.stderr)
            code = CANNOT_RUN
        worst = max(worst, code)
        if options.update and code == 0 and not options.look and not options.picture:
            note_time(name, took[name])
    if len(took) > 1 and not options.look and not options.picture:
        seconds = sum(took.values())
        print("\n".join(f"{one:7.1f} s  {name}" for name, one in [*took.items(), (f"all {len(took)} cases", seconds)]), flush=True)
        if set(took) == set(cases()) and seconds > options.all_seconds:
            print(f"error: all {len(took)} cases took {seconds:.1f} s, more than {options.all_seconds:g} s", file=sys.stderr)
            worst = max(worst, 1)
    return worst


if __name__ == "__main__":
    sys.exit(main())
