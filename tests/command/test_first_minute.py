"""What a new user types first: names of recordings, what is refused and how, where words go, and exit codes."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import interpreters
from profile_tables import Profile
from recording import binary, check_laws
from terminal import until_the_end_of
from test_shells import verbs

APP = "import sys\nfor _ in range(100_000): sum((1, 2))\nprint(sys.argv)\n"
# A folder that even root cannot write into.
UNWRITABLE = Path("/sys")


@pytest.fixture
def python() -> str:
    return interpreters.from_pyenv()[-1].path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Named, because a directory is one of the things that can be run."""
    made = tmp_path / "shop"
    (made / "pack").mkdir(parents=True)
    for name in ("app.py", "__main__.py", "pack/module.py", "pack/app.py"):
        (made / name).write_text(APP)
    return made


def genba(folder: Path, *arguments: str, python: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(python).parent}:{os.environ['PATH']}" if python else os.environ["PATH"]
    environment = {"PATH": path, "HOME": "/nonexistent", "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"], **more}
    command = [str(binary()), *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def recorded(done: subprocess.CompletedProcess[str]) -> str:
    """The name in the last line."""
    last = done.stderr.splitlines()[-1]
    said = re.fullmatch(r"recorded (.+) \(\d[\d.]* (?:[kM]B|bytes)\) · next: genba view (.+)", last)
    assert done.returncode == 0 and said and said[1] == said[2], done.stderr
    return said[1]


def test_a_recording_is_named_after_what_runs(folder: Path, python: str) -> None:
    subprocess.run([python, "-m", "zipfile", "-c", "archive.pyz", "__main__.py"], cwd=folder, check=True)
    expected = {
        ("app.py", "-x", "--quiet", "-o", "its-own"): "app.genba",
        ("--", "app.py"): "app-2.genba",
        ("pack/app.py",): "app-3.genba",
        ("python3", "-u", "app.py"): "app-4.genba",
        ("-m", "pack.module", "--force"): "pack.module.genba",
        (".",): "shop.genba",
        ("archive.pyz",): "archive.genba",
        ("python3", "-c", "sum(range(10**6))"): "python3.genba",
        ("env", "python3", "app.py"): "env.genba",
    }
    for words, name in expected.items():
        done = genba(folder, "run", *words, python=python)
        assert recorded(done) == name, words
        if words[0] in ("app.py", "-m"):
            assert done.stdout.endswith(f"{list(words[-1:])[0]!r}]\n") and "genba" not in done.stdout, done.stdout
    assert {one.name for one in folder.glob("*.genba")} == set(expected.values())
    for name in expected.values():
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
        check_laws(folder / name)


def test_a_free_name_is_taken_and_a_named_file_is_not_replaced(folder: Path, python: str) -> None:
    (folder / "app.genba").write_text("")
    assert recorded(genba(folder, "run", "app.py", python=python)) == "app-2.genba"
    refused = genba(folder, "run", "-o", "app.genba", "app.py", python=python)
    assert (refused.returncode, refused.stdout) == (2, ""), refused
    assert refused.stderr.startswith("error: cannot write the recording app.genba: it exists\nhint: --force "), refused.stderr
    assert (folder / "app.genba").read_text() == ""
    assert recorded(genba(folder, "run", "--force", "-o", "app.genba", "app.py", python=python)) == "app.genba"
    check_laws(folder / "app.genba")


def test_a_refused_target_leaves_what_force_would_replace(folder: Path, python: str) -> None:
    mine = b"\x89genba\r\nmine"
    (folder / "mine.genba").write_bytes(mine)
    (folder / "tool").write_text("#!/no/such/interpreter\n")
    (folder / "tool").chmod(0o755)
    for target in ("nothing.py", "./tool"):
        done = genba(folder, "run", "--force", "-o", "mine.genba", target, python=python)
        assert done.returncode != 0 and done.stderr.startswith("error: "), done
        assert (folder / "mine.genba").read_bytes() == mine, target
    recorded(genba(folder, "run", "--force", "-o", "mine.genba", "app.py", python=python))
    assert [one.name for one in folder.glob("*mine*")] == ["mine.genba"]


def test_a_folder_that_cannot_be_written(folder: Path, tmp_path: Path, python: str) -> None:
    (folder / "loud.py").write_text("import sys\nsys.stderr.write('the program\\n')\n" + APP)
    (tmp_path / "temporary").mkdir()
    temporary = {"TMPDIR": str(tmp_path / "temporary"), "python": python}
    done = genba(UNWRITABLE, "run", str(folder / "loud.py"), **temporary)
    name = Path(recorded(done))
    first, second, *_ = done.stderr.splitlines()
    assert first.startswith("note: the current directory cannot be written (") and first.endswith(f"; recording to {name}")
    assert second == "the program", "it is said before the program starts"
    assert (name.name, name.parent.parent) == ("loud.genba", tmp_path / "temporary")
    assert stat.S_IMODE(name.parent.stat().st_mode) == 0o700
    check_laws(name)
    # A place that was asked for is that or none.
    done = genba(UNWRITABLE, "run", "-o", "app.genba", str(folder / "app.py"), **temporary)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith("error: cannot write the recording app.genba: ")
    # Nowhere at all.
    done = genba(UNWRITABLE, "run", str(folder / "app.py"), TMPDIR=str(UNWRITABLE), python=python)
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.startswith("error: cannot write a recording: "), done


def test_a_folder_whose_path_is_no_text(folder: Path, tmp_path: Path, python: str) -> None:
    """The part of genba in the program takes the recording's path as text."""
    (tmp_path / "temporary").mkdir()
    nameless = Path(os.fsdecode(os.fsencode(tmp_path) + b"/d\xff"))
    nameless.mkdir()
    more = {"TMPDIR": str(tmp_path / "temporary"), "python": python}
    done = genba(nameless, "run", str(folder / "app.py"), **more)
    name = Path(recorded(done))
    assert done.stderr.startswith(f"note: the current directory is not used (its path is not UTF-8); recording to {name}\n"), done
    assert name.parent.parent == tmp_path / "temporary" and list(nameless.iterdir()) == []
    check_laws(name)
    # A place that was asked for is that or none.
    done = genba(nameless, "run", "-o", "app.genba", str(folder / "app.py"), **more)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith("error: cannot name app.genba in full: it is not UTF-8"), done
    assert list(nameless.iterdir()) == []


def test_words_come_after_the_program_s_last(folder: Path, python: str) -> None:
    for end, code, last in (("raise ValueError('its end')", 1, "ValueError: its end"), ("sys.exit('bye')", 1, "bye")):
        (folder / "ends.py").write_text(APP + end + "\n")
        done = genba(folder, "run", "ends.py", python=python)
        program, report = done.stderr.index(last), done.stderr.index("CPython 3.")
        assert done.returncode == code and program < report < done.stderr.index("recorded ends"), done.stderr
        assert done.stdout == "['ends.py']\n"
        quiet = genba(folder, "run", "--quiet", "ends.py", python=python)
        assert quiet.returncode == code and quiet.stderr.endswith(last + "\n"), quiet.stderr
    assert genba(folder, "run", "-q", "app.py", python=python).stderr == ""


def test_the_interpreter_of_a_script(folder: Path, python: str) -> None:
    (folder / "which.py").write_text("import sys\nprint(sys.executable)\n")
    subprocess.run([python, "-m", "venv", "--without-pip", "environment"], cwd=folder, check=True)
    own = str(folder / "environment/bin/python")

    def used(*words: str, **variables: str) -> str:
        done = genba(folder, "run", "-q", *words, **variables)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert used("which.py", VIRTUAL_ENV=str(folder / "environment")) == own
    assert used("--python", own, "-m", "which") == own
    assert Path(used("which.py", python=python)) == Path(python).parent / "python3"


def test_the_newest_recording_is_read_and_named(folder: Path, python: str) -> None:
    nothing = genba(folder, "report")
    assert nothing.returncode == 1 and nothing.stderr.startswith("error: no recording in the current directory\n")
    for name in ("b", "a"):
        recorded(genba(folder, "run", "-o", f"{name}.genba", "app.py", python=python))
    os.utime(folder / "b.genba", (1, 1))
    for verb in ("report", "tree", "check"):
        done = genba(folder, verb)
        assert done.returncode == 0 and done.stderr.startswith("reading a.genba\n"), done.stderr
        named = genba(folder, verb, "b.genba")
        assert named.returncode == 0 and "reading" not in named.stderr
    os.utime(folder / "a.genba", (0, 0))
    assert genba(folder, "report").stderr.startswith("reading b.genba\n")


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        ("app.py --flag", 2, "genba run app.py --flag"),
        ("pytest -x", 2, "genba run pytest -x"),
        ("rum app.py", 2, "did you mean `run`?"),
        ("zzz", 2, "genba --help lists the verbs"),
        ("run", 2, "genba run app.py"),
        ("run --intervall 1ms app.py", 2, "--interval"),
        ("run --interval 5 app.py", 2, "genba run --help"),
        ("attach 1 2", 2, "genba attach takes one process"),
        ("run -c pass", 2, "genba run python -c CODE"),
        ("run nothing.py", 2, "name an existing .py or .pyz file"),
        ("run nothing-on-path", 2, "genba run NAME a command on PATH"),
        ("run pack", 2, "name a script in it, or a module with -m"),
        ("run -o no/app.genba app.py", 2, "mkdir -p no"),
        ("run -o pack app.py", 2, "-o pack/app.genba"),
        ("report no.genba", 1, ""),
        ("report app.py", 1, "genba run app.py makes one"),
        ("export app.genba", 2, "genba export --to speedscope app.genba"),
    ],
)
def test_what_is_refused_says_why_and_what_to_do(folder: Path, python: str, words: str, code: int, hint: str) -> None:
    done = genba(folder, *words.split(), python=python)
    assert (done.returncode, done.stdout) == (code, ""), done
    first, *rest = done.stderr.splitlines()
    assert first.startswith("error: "), done.stderr
    assert not hint or any(line.startswith("hint: ") and hint in line for line in rest), done.stderr
    assert list(folder.glob("*.genba")) == []


def test_help_and_version(folder: Path) -> None:
    page = genba(folder, "--help").stdout
    assert re.findall(r"^(\w[\w ]*):$", page, re.MULTILINE) == ["Record", "Read", "Look at a process", "Share", "Prove", "Options"]
    assert set(verbs()) >= {"run", "report", "tree", "check", "html", "export"}
    for verb in verbs():
        assert genba(folder, verb, "--help").stdout.count("\nUsage: genba ") == 1, verb
    assert "genba completions" in page and "genba man" in page
    for flag in ("-V", "--version"):
        done = genba(folder, flag)
        assert done.returncode == 0 and re.fullmatch(r"genba \d+\.\d+\.\d+\n", done.stdout), done


LONG = """import os, time
begin = time.monotonic()
def is_looked_at():
    try:
        return any(open(f"/proc/self/task/{task}/comm").read() == "genba\\n" for task in os.listdir("/proc/self/task"))
    except OSError:
        return False  # it ends just now
def early():
    while time.monotonic() < begin + 2.1 or is_looked_at() and time.monotonic() < begin + 20: sum(range(100))
def late():
    until = time.thread_time() + 0.2
    while time.thread_time() < until: sum(range(100))
early(); late(); print("end")
"""


def test_recording_stops_and_the_program_goes_on(folder: Path, python: str) -> None:
    """`late` begins when genba's thread has ended, which on a busy machine is later than its time."""
    (folder / "long.py").write_text(LONG)
    done = genba(folder, "run", "--duration", "2s", "--tag", "a=b=c", "--tag", "d=", "long.py", python=python)
    assert recorded(done) == "long.genba" and done.stdout == "end\n"
    said = r"warning: .* recorded for its first [\d.]+ m?s only, .*: --duration is over; a longer --duration records more\n"
    assert re.search(said, done.stderr) and "not recorded" not in done.stderr, done.stderr
    tables = json.loads(genba(folder, "export", "long.genba", "--to", "json", "-o", "-").stdout)
    assert tables["meta"]["tags"] == ["a=b=c", "d="]
    names = [name for row in Profile(tables).rows() for name in row.names()]
    assert "early" in names and "late" not in names
    check_laws(folder / "long.genba")


def test_colour_is_for_terminals_and_can_be_set(folder: Path, python: str) -> None:
    recorded(genba(folder, "run", "app.py", python=python))

    def is_coloured(*words: str, **variables: str) -> bool:
        screen, terminal = os.openpty()
        environment = {"PATH": os.environ["PATH"], "TERM": "xterm", **variables}
        done = subprocess.Popen([str(binary()), *words], cwd=folder, env=environment, stdout=terminal, stderr=subprocess.DEVNULL)
        page = until_the_end_of(done, screen, terminal)
        assert done.returncode == 0 and page
        return b"\x1b[" in page

    for verb in ("report", "tree"):
        assert is_coloured(verb)
        assert not is_coloured(verb, "--color", "never")
        assert not is_coloured(verb, GENBA_COLOR="never")
        assert not is_coloured(verb, NO_COLOR="1")
        assert is_coloured(verb, "--color", "always", GENBA_COLOR="never")
        assert "\x1b" not in genba(folder, verb).stdout
        assert "\x1b" in genba(folder, verb, "--color", "always").stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_users_environment_is_not_called_empty() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        command = shutil.copy(binary(), folder)
        closed = Path(folder, "venv")
        closed.joinpath("bin").mkdir(parents=True)
        closed.joinpath("bin/python").symlink_to(sys.executable)
        closed.chmod(0o700)
        environment = {**os.environ, "VIRTUAL_ENV": str(closed), "GENBA_SETTINGS": "none"}
        Path(folder, "app.py").touch()
        done = subprocess.run([command, "run", "app.py"], cwd=folder, env=environment, user=65534, group=65534, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: permission denied: {closed}/bin/python\n"), done.stderr
