"""What a recording holds is neither lost nor shown to others: the file that --force replaces, an ignored SIGCHLD, modes, the terminal."""

import json
import os
import re
import shlex
import signal
import stat
import subprocess
from pathlib import Path

import pytest

import interpreters
from recording import binary, check_laws

APP = "import sys\nfor _ in range(100_000): sum((1, 2))\nsys.exit(3)\n"


@pytest.fixture(scope="module")
def python() -> str:
    return interpreters.from_pyenv()[-1].path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP)
    return tmp_path


def genba(folder: Path, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    environment |= options.pop("variables", {})
    command = [str(binary()), *arguments]
    options.setdefault("cwd", folder)
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, **options)


def test_force_gives_back_what_nothing_took_the_place_of(folder: Path, python: str) -> None:
    assert genba(folder, "run", "-o", "old.genba", python, "app.py").returncode == 3
    before = (folder / "old.genba").read_bytes()
    for target in (["/bin/true"], ["/bin/sh", "-c", "kill -9 $$"]):
        done = genba(folder, "run", "--force", "-o", "old.genba", *target)
        assert "no Python" in done.stderr, done.stderr
        assert (folder / "old.genba").read_bytes() == before
    again = genba(folder, "run", "--force", "-o", "old.genba", python, "app.py")
    assert again.returncode == 3 and (folder / "old.genba").read_bytes() != before
    assert sorted(path.name for path in folder.iterdir()) == ["app.py", "cache", "old.genba"]


def test_children_that_nobody_waits_for(folder: Path, python: str) -> None:
    """Started with SIGCHLD ignored, as some supervisors do."""

    def ignore() -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    (folder / "asks.py").write_text("import signal, sys\nprint(signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN)\n" + APP)
    done = genba(folder, "run", "-o", "app.genba", python, "asks.py", preexec_fn=ignore)
    assert (done.returncode, done.stdout) == (3, "True\n"), done.stderr
    assert "\nticks " in done.stderr and "recorded app.genba" in done.stderr, done.stderr
    check_laws(folder / "app.genba")
    tables = json.loads(genba(folder, "export", "app.genba", "--to", "json", "-o", "-").stdout)
    assert tables["meta"]["exit_code"] == 3 and tables["sources"], tables["meta"]


def test_pages_and_exports_are_their_owner_s(folder: Path, python: str) -> None:
    genba(folder, "run", "-o", "app.genba", python, "app.py", umask=0)
    genba(folder, "html", "app.genba", "-o", "app.html", umask=0)
    genba(folder, "export", "app.genba", "--to", "json", "-o", "app.json", umask=0)
    modes = {name: oct(stat.S_IMODE((folder / name).stat().st_mode)) for name in ("app.genba", "app.html", "app.json")}
    assert set(modes.values()) == {"0o600"}, modes


def test_stdout_is_no_recording(folder: Path, python: str) -> None:
    done = genba(folder, "run", "-o", "-", python, "app.py")
    assert done.returncode == 2 and "cannot write the recording -: - is no file" in done.stderr, done.stderr
    assert not (folder / "-").exists()


def test_a_width_of_nothing_is_none(folder: Path, python: str) -> None:
    genba(folder, "run", "-q", "-o", "app.genba", python, "app.py")
    pages = [genba(folder, "report", "app.genba", variables={"COLUMNS": columns}).stdout for columns in ("0", "", "wide")]
    assert pages[0] == pages[1] == pages[2] and pages[0]


def test_words_of_a_recording_do_not_steer_the_terminal(folder: Path, python: str) -> None:
    """A process that was refused has a name of the program's choice, and so has a file."""
    sink = "\x1b]0;owned\x07"
    named = folder / f"evil{sink}.py"
    named.write_text(APP)
    tool = folder / f"old{sink}"
    tool.symlink_to(python)
    target = f"{shlex.quote(str(tool))} {shlex.quote(named.name)}"
    for quiet in ([], ["-q"]):
        done = genba(folder, "run", *quiet, "--force", "-o", f"a{sink}.genba", "/bin/sh", "-c", target)
        assert "\x1b" not in done.stdout + done.stderr and "\x07" not in done.stderr, repr(done.stderr)
    for verb in ("report", "tree", "lines", "check"):
        done = genba(folder, verb, f"a{sink}.genba")
        assert "\x1b" not in done.stdout + done.stderr, (verb, repr(done.stdout + done.stderr))
    missing = genba(folder, "report", f"none{sink}.genba")
    assert missing.returncode != 0 and "\x1b" not in missing.stderr, repr(missing.stderr)


# What a cleanup job, a test or a build tool does to the folder while the program runs, and where the recording is kept then.
REMOVALS = {
    "its folder": ("shutil.rmtree(os.getcwd())", r"\S*/genba-\d+-1/app\.genba"),
    "the file": ("os.remove('app.genba')", r"\S*/work/app\.genba"),
    "another file has its name": ("os.remove('app.genba'); open('app.genba', 'w').write('mine')", r"\S*/work/app-2\.genba"),
}


@pytest.mark.parametrize("removal", REMOVALS)
def test_a_recording_that_is_removed_while_the_program_runs(folder: Path, python: str, removal: str) -> None:
    statement, kept = REMOVALS[removal]
    work = folder / "work"
    work.mkdir()
    (folder / "app.py").write_text(f"import os, shutil, sys\nwhile not os.path.getsize('app.genba'): pass\n{statement}\nfor _ in range(300_000): sum((1, 2))\nsys.exit(7)\n")
    run = genba(folder, "run", python, "../app.py", cwd=work, variables={"TMPDIR": str(folder)})
    assert run.returncode == 7, run.stderr
    found = re.search(rf"^warning: app\.genba was removed while the program ran; it is kept as ({kept})$", run.stderr, re.MULTILINE)
    assert found, run.stderr
    assert "app.py:4" in run.stdout + run.stderr
    shown = genba(folder, "report", found[1])
    assert shown.returncode == 0 and "app.py:4" in shown.stdout, shown.stderr
    check_laws(Path(found[1]))
    assert not (work / "app.genba").exists() or found[1].endswith("/work/app.genba") or (work / "app.genba").read_text() == "mine"


def test_a_recording_that_is_removed_before_anything_is_in_it(folder: Path, python: str) -> None:
    done = genba(folder, "run", "-o", "app.genba", "/bin/rm", "app.genba")
    assert done.returncode == 1 and not list(folder.glob("*.genba")), done.stderr
    assert "error: app.genba was removed while the program ran, before anything was written into it\nhint: " in done.stderr, done.stderr


# As soon as something is in it, and goes on for a while.
REMOVES = """
import os, time
print(flush=True)
while not os.path.exists("app.genba") or not os.path.getsize("app.genba"): pass
os.remove("app.genba")
end = time.monotonic() + 0.5
while time.monotonic() < end: pass
"""


def test_a_recording_that_is_removed_while_a_process_is_attached(folder: Path, python: str) -> None:
    (folder / "app.py").write_text(REMOVES)
    with subprocess.Popen([python, "app.py"], cwd=folder, stdout=subprocess.PIPE) as program:
        program.stdout.readline()
        run = genba(folder, "attach", str(program.pid), "-o", "app.genba")
    assert run.returncode == 0, run.stderr
    found = re.search(r"^warning: app\.genba was removed while the program ran; it is kept as (\S+)$", run.stderr, re.MULTILINE)
    assert found, run.stderr
    check_laws(Path(found[1]))
