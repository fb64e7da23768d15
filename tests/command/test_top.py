"""`genba top` in a terminal: keys are typed and the screen is read back, while a real program is recorded beside it."""

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import interpreters
from multiplexer import Window
from recording import binary, genba, genba_said
from running_program import name_of, until

# Runs until somebody makes the file `stop`.
APP = """\
import os, threading, time

def slices(b):
    n = 0
    for i in range(10_000):
        n += len(b[i:][:2])
    return n

def cycles():
    for _ in range(2_000):
        a = []
        a.append(a)

def sleeper():
    while not os.path.exists("stop"):
        time.sleep(0.01)

threading.Thread(target=sleeper, name="sleeper").start()
text = bytes(10_000)
while not os.path.exists("stop"):
    slices(text)
    cycles()
"""
GOLDEN = Path(__file__).resolve().parents[2] / "testdata/golden/v3.genba"
TOP = f"{binary()} top"


class Live:
    """A program that is being recorded into `live.genba`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "app.py").write_text(APP)
        command = [str(binary()), "run", "--quiet", "--python", interpreters.from_pyenv()[-1].path, "-o", "live.genba", "app.py"]
        # The session's: what genba keeps of an interpreter is found again.
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]}
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL)
        self.until_bytes(1)

    @property
    def recording(self) -> Path:
        return self.folder / "live.genba"

    def until_bytes(self, bytes_min: int) -> None:
        has_them = lambda: self.recording.exists() and self.recording.stat().st_size >= bytes_min
        assert until(lambda: has_them() or self.process.poll() is not None, 60) and has_them(), "the program ended, or writes nothing"

    def grows(self) -> None:
        """Waits until three blocks more are written, at least."""
        self.until_bytes(self.recording.stat().st_size + 3_000)

    def stops(self) -> None:
        (self.folder / "stop").touch()
        assert self.process.wait(timeout=60) == 0


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    made = Live(tmp_path)
    yield made
    (tmp_path / "stop").touch()
    made.process.wait(timeout=60)


@pytest.fixture
def stop(tmp_path: Path) -> Iterator[Path]:
    """Made at the end, however the test ends: the program ends then."""
    yield tmp_path / "stop"
    (tmp_path / "stop").touch()


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Callable[..., Window]]:
    made: list[Window] = []

    def make(command: str, columns: int = 80, lines: int = 24, **environment: str) -> Window:
        environment = {"HOME": str(tmp_path), "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"], **environment}
        made.append(Window(tmp_path, command, columns, lines, **environment))
        return made[-1]

    yield make
    for one in made:
        one.close()


def heaviest(page: str) -> str:
    """The first row of the table; none on a screen that is only drawn as far as above it."""
    lines = iter(page.splitlines())
    any(re.search(r"self.* total.* self", line) for line in lines)
    return next(lines, "")


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=["80x24", "200x60"])
def test_keys_against_a_program_that_runs(live: Live, window: Callable[..., Window], size: tuple[int, int]) -> None:
    top = window(f"{TOP} live.genba", *size, NO_COLOR="1")
    # Names of C functions and sources are found a moment after the first numbers.
    page = top.until(lambda page: "b[i:]" in page and "→ " in page and "app.py:6 slices" in heaviest(page))
    lines = page.splitlines()
    assert lines[0].startswith("genba top live.genba") and "recording, " in lines[0], page
    assert "ticks " in page and " = sampled " in page and "CPU covered " in page, page
    assert re.search(r"GIL: \d+\.\d % of .* GC: \d+\.\d % of CPU", page), page
    top.until(lambda page: re.search(r"CPU \d\.\d\d cores [▁▂▃▄▅▆▇█]{2}", page) is not None)
    assert "b[i:]" in heaviest(page), page
    assert [line for line in lines if len(line) > size[0]] == [] and len(lines) <= size[1]

    top.types("2")
    page = top.until(lambda page: re.search(r"(total|%)  line$", page, re.MULTILINE) is not None and "n += len" in page)
    assert "app.py:6 slices" in heaviest(page), page
    top.types("3")
    page = top.until(lambda page: "app.py:3 slices" in page)
    assert re.search(r"app\.py:\d+ <module>", page), page
    top.types("4")
    top.until(lambda page: len(re.findall(r"thread \d+ \S+ of process", page.split("q quit")[0])) >= 2)
    top.types("t")
    page = top.until("slices (app.py:3)")
    assert "<module> (app.py:1)" in page and " path" in page, page
    top.types("t")
    top.until("thread ")

    # The thread that sleeps has the most wall time of its own, or as much as the one that works.
    top.types("1", "Right", "Right")
    top.until(lambda page: "time.sleep(0.01)" in page and page.count("self↓") == 1)
    top.types("r")
    top.until("self↑")
    top.types("r")
    top.types("/")
    top.types_text("sl..p\\(")
    top.until("/sl..p\\(_")
    top.types("Enter")
    page = top.until("rows that match /sl..p\\(/")
    assert "b[i:]" not in page and "time.sleep(0.01)" in page, page
    top.types("Escape")
    top.until(lambda page: "b[i:]" in page and "rows that match" not in page)

    top.types("w")
    top.until("last 10 s")
    top.types("w", "w")
    top.until("since the beginning")

    top.types("f")
    top.until(" FROZEN ")
    live.grows()
    frozen = top.screen()
    live.grows()
    assert top.screen() == frozen
    top.types("Space")
    ticks = re.search(r"ticks ([\d,]+)", frozen)
    assert ticks
    top.until(lambda page: "FROZEN" not in page and ticks[0] not in page)

    top.types("?")
    top.until("freeze: nothing new is read until the next f")
    top.types("x")
    top.until("b[i:]")

    other = (200, 60) if size == (80, 24) else (80, 24)
    top.resizes(*other)
    # Only a narrow screen has one share for the whole row, in front of it.
    top.until(lambda page: bool(re.search("^ +% +self", page, re.MULTILINE)) == (other[0] == 80) and "b[i:]" in page)
    page = top.until(lambda page: len(page.splitlines()) == other[1] and page.splitlines()[-1].startswith("q quit"))
    assert [line for line in page.splitlines() if len(line) > other[0]] == [], page

    top.types("q")
    code, page = top.ends()
    # Above it may be what tmux kept of the larger window.
    assert (code, page.strip().splitlines()[-1]) == (0, "the program and its recording go on: live.genba · next: genba report live.genba")
    assert live.process.poll() is None
    live.stops()


def test_the_end_of_a_recording_is_seen_and_the_numbers_are_those_of_the_report(live: Live, window: Callable[..., Window]) -> None:
    top = window(TOP, 200, 60)
    top.until("b[i:]")
    live.stops()
    page = top.until("ended: exit code 0")
    report = genba_said("report", live.recording)
    law = next(line for line in report.splitlines() if line.startswith("ticks "))
    top.until(law)
    row = re.search(r"^ *([\d.]+) %\s+([\d.]+ \w+)  app\.py:6 slices", report, re.MULTILINE)
    assert row, report
    page = top.until(lambda page: page.startswith("genba top") and row[2] in heaviest(page))
    assert row[1] in heaviest(page).split(), (page, report)
    top.types("q")
    code, page = top.ends()
    assert (code, page.strip().splitlines()[-1]) == (0, "the recording ended (exit code 0): live.genba · next: genba report live.genba")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_a_signal_gives_the_terminal_back(live: Live, window: Callable[..., Window], number: int, code: int) -> None:
    # The shell says what the terminal is like before and after.
    script = f"stty -a >before; {TOP} live.genba & echo $! >pid; fg >/dev/null; echo code $?; stty -a >after; printf 'cursor here'"
    (live.folder / "script").write_text(script)
    top = window("bash -m script", 80, 24)
    top.until("ticks ")
    os.kill(int((live.folder / "pid").read_text()), number)
    _, page = top.ends()
    assert f"code {code}" in page and "the program and its recording go on: live.genba" in page and "ticks" not in page, page
    assert (live.folder / "before").read_text() == (live.folder / "after").read_text()
    assert live.process.poll() is None


def test_ctrl_c_quits_and_ctrl_z_stops(live: Live, window: Callable[..., Window]) -> None:
    top = window("bash --norc --noprofile -i", 80, 24, PS1="$ ")
    top.types_text(f"{TOP} live.genba\n")
    top.until("ticks ")
    top.types("C-z")
    page = top.until("Stopped")
    assert "ticks" not in page, page
    top.types_text("fg\n")
    top.until(lambda page: "ticks " in page and "Stopped" not in page)
    top.types("C-c")
    page = top.until("the program and its recording go on")
    top.types_text("echo code $?\n")
    top.until("code 0")
    assert live.process.poll() is None


def test_colours_only_where_they_are_wanted(window: Callable[..., Window], tmp_path: Path) -> None:
    shutil.copy(GOLDEN, tmp_path / "app.genba")
    coloured = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|4[0-7]|9[0-7]|[34]8;[\d;]+)m")
    for environment, is_coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        top = window(f"{TOP} app.genba", **environment)
        top.until("ticks ")
        assert bool(coloured.search(top.screen(with_colour=True))) == is_coloured, environment


def test_what_becomes_of_the_file_is_said(live: Live, window: Callable[..., Window]) -> None:
    shut, gone = live.folder / "shut.genba", live.folder / "gone.genba"
    live.grows()
    for copy in (shut, gone):
        shutil.copy(live.recording, copy)
    tops = {copy: window(f"{TOP} {copy.name}") for copy in (shut, gone)}
    for top in tops.values():
        top.until("ticks ")
    os.truncate(shut, 100)
    page = tops[shut].until("the file is shorter than what was read of it")
    assert "ticks " in page, page
    gone.unlink()
    tops[gone].until("the file has no name any more: it was moved or removed")
    shutil.copy(GOLDEN, gone)
    tops[gone].until("another file has this name now")


def test_a_program_that_was_killed(live: Live, window: Callable[..., Window]) -> None:
    top = window(f"{TOP} live.genba")
    top.until("b[i:]")
    children = Path(f"/proc/{live.process.pid}/task/{live.process.pid}/children").read_text().split()
    os.kill(live.process.pid, signal.SIGKILL)
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    top.until(lambda page: re.search(r"no new block for \d+ s, and no process of it runs here", page) is not None)


def test_a_damaged_block_is_said_as_the_readers_say_it(window: Callable[..., Window], tmp_path: Path) -> None:
    damaged = bytearray(GOLDEN.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "app.genba").write_bytes(damaged)
    done = genba("check", tmp_path / "app.genba")
    fault = re.search(r"damaged at byte \d+", done.stderr)
    assert fault, done.stderr
    page = window(f"{TOP} app.genba", 200, 60).until(fault[0])
    assert "ticks " in page, page


def test_a_recording_that_begins_later_is_waited_for(window: Callable[..., Window], tmp_path: Path) -> None:
    recording = tmp_path / "app.genba"
    recording.touch()
    top = window(f"{TOP} app.genba")
    page = top.until("waiting for the first block")
    assert "nothing is recorded yet" in page, page
    recording.write_bytes(GOLDEN.read_bytes())
    top.until("ticks ")


def test_a_program_that_it_starts_goes_on_without_the_screen(window: Callable[..., Window], tmp_path: Path, stop: Path) -> None:
    (tmp_path / "app.py").write_text("import sys\nprint('began', sys.argv[1], flush=True)\n" + APP + "print('over')\n")
    python = interpreters.from_pyenv()[-1].path
    top = window(f"{TOP} --python {python} app.py one", 200, 60)
    page = top.until("b[i:]")
    # Its line may have a row; what it prints has none.
    assert "began one" not in page, page
    top.types("q")
    code, page = top.ends()
    said = " ".join(page.split())
    found = re.search(r"the program and its recording go on: app.genba; what it prints is in app.out; kill (\d+) ends it · next: genba report app.genba", said)
    assert code == 0 and found, page
    assert (tmp_path / "app.out").read_text() == "began one\n"
    stop.touch()
    assert until(lambda: not Path(f"/proc/{found[1]}").exists() or "State:\tZ" in Path(f"/proc/{found[1]}/status").read_text())
    assert (tmp_path / "app.out").read_text() == "began one\nover\n"
    assert "b[i:]" in genba_said("report", tmp_path / "app.genba")


def test_a_program_that_it_starts_and_that_ends(window: Callable[..., Window], tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass\nraise SystemExit(3)\n")
    python = interpreters.from_pyenv()[-1].path
    top = window(f"{TOP} --python {python} app.py", 200, 60)
    top.until("ended: exit code 3")
    top.types("q")
    code, page = top.ends()
    assert code == 0 and "the recording ended (exit code 3): app.genba; what it printed is in app.out · next: genba report app.genba" in " ".join(page.split()), page


# What it leaves behind works until somebody kills it, or makes the file `stop`.
LEAVES_BEHIND = """\
import os
child = os.fork()
if child == 0:
    while not os.path.exists("stop"):
        sum(range(10_000))
    os._exit(0)
with open("child", "w") as file:
    file.write(str(child))
"""


@pytest.mark.usefixtures("stop")
def test_a_process_that_was_left_behind_is_counted_until_it_is_killed(window: Callable[..., Window], tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(LEAVES_BEHIND)
    top = window(f"{TOP} --python {interpreters.from_pyenv()[-1].path} app.py", 200, 60)
    top.until("ended: exit code 0, 1 process goes on")
    os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)
    # It has no chance to write an end: that it is gone is seen when nothing has come for a while.
    page = top.until(lambda page: "goes on" not in page.split("\n")[0] and "ended: " in page.split("\n")[0])
    assert "ended: exit code 0, " in page.split("\n")[0], page
    top.types("q")
    code, page = top.ends()
    assert code == 0 and "the recording ended (exit code 0): app.genba" in " ".join(page.split()), page


class Plain:
    """A program that nobody records yet; `state` is what a recording must leave as it was."""

    def __init__(self, folder: Path) -> None:
        (folder / "app.py").write_text("print('ready', flush=True)\n" + APP)
        command = [interpreters.from_pyenv()[-1].path, "app.py"]
        self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout and self.process.stdout.readline() == "ready\n"
        assert until(lambda: len(self.threads()) == 2)
        self.before = self.state()

    @property
    def pid(self) -> int:
        return self.process.pid

    def threads(self) -> list[str]:
        names = map(name_of, Path(f"/proc/{self.pid}/task").iterdir())
        return sorted(name for name in names if name is not None)

    def state(self) -> tuple[list[str], list[str]]:
        return self.threads(), sorted(os.listdir(f"/proc/{self.pid}/fd"))

    def is_as_before(self) -> bool:
        return self.process.poll() is None and self.state() == self.before


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Plain]:
    made = Plain(tmp_path)
    yield made
    (tmp_path / "stop").touch()
    assert made.process.wait(timeout=60) == 0


# What is set for `genba run` is not meant for the screen, which has options of its own.
SETTINGS = {"plain": {}, "environment": {"GENBA_QUIET": "1", "GENBA_DURATION": "50us", "GENBA_ALLOC": "1"}}


@pytest.mark.parametrize("settings", [*SETTINGS, "file"])
def test_a_process_that_runs_is_recorded_while_the_screen_is_shown(plain: Plain, window: Callable[..., Window], tmp_path: Path, settings: str) -> None:
    if settings == "file":
        (tmp_path / "genba.toml").write_text("quiet = true\nalloc = true\n")
    top = window(f"{TOP} {plain.pid}", 200, 60, **SETTINGS.get(settings, {}))
    # The first numbers are of a few looks, and another row may be the heaviest.
    page = top.until(lambda page: "b[i:]" in page and "app.py:7 slices" in heaviest(page))
    assert "genba" in plain.threads(), page
    top.types("q")
    code, page = top.ends()
    assert (code, page.strip().splitlines()[-1]) == (0, "the process goes on, its recording has ended: app.genba · next: genba report app.genba")
    assert until(plain.is_as_before), (plain.state(), plain.before)
    assert genba("check", tmp_path / "app.genba").returncode == 0
    assert "b[i:]" in genba_said("report", tmp_path / "app.genba")


def test_the_recording_of_a_program_that_goes_on_has_no_exit_code(plain: Plain, window: Callable[..., Window], tmp_path: Path) -> None:
    recording = tmp_path / "app.genba"
    assert genba("attach", "--duration", "500ms", "-q", "-o", recording, str(plain.pid)).returncode == 0
    meta = json.loads(genba_said("export", recording, "--to", "json", "-o", "-"))["meta"]
    assert (meta["exit_code"], meta["exit_signal"]) == (None, None), meta
    assert plain.process.poll() is None
    top = window(f"{TOP} app.genba", 200, 60)
    top.until("ended: the recording is complete")
    top.types("q")
    code, page = top.ends()
    assert (code, page.strip().splitlines()[-1]) == (0, "the recording is complete: app.genba · next: genba report app.genba")


def test_options_of_the_recording(plain: Plain, window: Callable[..., Window], tmp_path: Path) -> None:
    """Of a process and of a program: the file has the name that was asked for, and the ticks are as far apart."""
    (tmp_path / "short.py").write_text("import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass\n")
    interpreter = interpreters.from_pyenv()[-1].path
    for target in (str(plain.pid), f"--python {interpreter} short.py"):
        name = f"{len(target)}.genba"
        top = window(f"{TOP} -o {name} --interval 3ms --no-native {target}", 200, 60)
        top.until("self")
        top.until("ticks")
        top.types("q")
        top.ends()
        assert until(lambda name=name: genba("report", name, cwd=tmp_path).returncode == 0)
        page = json.loads(genba("export", name, "--to", "json", "-o", "-", cwd=tmp_path).stdout)
        assert (page["meta"]["interval_ns"], page["meta"]["native"]) == (3_000_000, False), page["meta"]
    assert until(plain.is_as_before), (plain.state(), plain.before)


def test_a_screen_that_is_killed_ends_its_recording(plain: Plain, window: Callable[..., Window], tmp_path: Path) -> None:
    top = window(f"sh -c 'echo $$ >pid; exec {TOP} {plain.pid}'", 200, 60)
    top.until("b[i:]")
    pid = (tmp_path / "pid").read_text().strip()
    (attach,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    os.kill(int(pid), signal.SIGKILL)
    assert until(plain.is_as_before), (plain.state(), plain.before)
    # It writes names and sources yet.
    assert until(lambda: not Path(f"/proc/{attach}").exists() or "State:\tZ" in Path(f"/proc/{attach}/status").read_text(), seconds=60)
    assert genba("check", tmp_path / "app.genba").returncode == 0
    assert "b[i:]" in genba_said("report", tmp_path / "app.genba")


def test_a_process_that_cannot_be_recorded(plain: Plain, window: Callable[..., Window], tmp_path: Path) -> None:
    """What `genba attach` says of it is on the terminal, and no file stays."""
    with subprocess.Popen([str(binary()), "attach", str(plain.pid), "-o", "other.genba"], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as other:
        try:
            assert other.stderr and other.stderr.readline().startswith("recording process")
            code, page = window(f"{TOP} {plain.pid}", 200, 60).ends()
        finally:
            other.send_signal(signal.SIGINT)
            other.communicate(timeout=60)
    assert (code, page.splitlines()[0]) == (1, f"error: process {plain.pid} is being recorded already"), page
    assert "hint: end that recording first" in page and not (tmp_path / "app.genba").exists(), page
    assert until(plain.is_as_before), (plain.state(), plain.before)


def test_what_cannot_be_followed(tmp_path: Path, window: Callable[..., Window]) -> None:
    (tmp_path / "app.py").write_text(APP)
    shutil.copy(GOLDEN, tmp_path / "app.genba")
    for words, code, begin in (
        (["4000000"], 1, "error: there is no process 4000000"),
        (["app.py"], 2, "error: genba top needs a terminal, and stdin is none"),
        (["none.py"], 2, "error: no such file: none.py"),
        (["app.genba", "more"], 2, "error: app.genba is no program: nothing may come behind it"),
        (["app.genba", "-o", "more.genba"], 2, "error: app.genba is no program: nothing may come behind it"),
        (["--rate", "100", "app.genba"], 2, "error: app.genba is recorded already: another genba has decided how"),
        (["none.genba"], 1, "error: cannot open none.genba: there is no such file"),
        (["."], 1, "error: . is not a file"),
        (["app.genba"], 2, "error: genba top needs a terminal, and stdin is none"),
    ):
        done = subprocess.run([str(binary()), "top", *words], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr.splitlines()[0]) == (code, "", begin), done
        assert "\nhint: " in done.stderr, done
        assert "hint: genba run records it" in done.stderr or words != ["app.py"], done
        if "-o" in words:
            assert done.stderr.splitlines()[1] == "hint: options come before it: genba top -o more.genba app.genba", done
    top = window(f"TERM=dumb {TOP} app.genba")
    code, page = top.ends()
    assert code == 2 and "found TERM=dumb" in page and "hint: genba report app.genba" in page, page
