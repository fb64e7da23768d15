"""The one wheel (`make wheel`), installed for each CPython: the command, `python -m genba`, and a package that does nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interpreters import CHROOT, Interpreter
from recording import REPOSITORY, genba_said
from wheel import wheel  # noqa: F401  (fixture)

PROGRAM = "import sys\nprint(sys.executable)\nfor _ in range(200_000): sum((1, 2))\nsys.exit(3)\n"


class Installed:
    """A place where the wheel was installed: a virtual environment, or a folder on PYTHONPATH inside a chroot."""

    def __init__(self, python: Interpreter, wheel: Path, folder: Path) -> None:
        self.root, self.folder, self.environment = python.root, folder, {"PATH": "/usr/bin:/bin"}
        if python.root is None and not python.is_standalone:
            # The pip of the tests: one in there would first have to be installed.
            subprocess.run([python.path, "-m", "venv", "--without-pip", folder / "venv"], check=True)
            self.python, self.command = str(folder / "venv/bin/python"), str(folder / "venv/bin/genba")
            self.pip([sys.executable, "-m", "pip", "--python", self.python], wheel)
            self.inside = str(folder)
        else:
            # Debian's and the standalone CPython have no pip; the one of the tests installs as `pip install --target` does anywhere.
            self.pip([sys.executable, "-m", "pip"], wheel, "--target", str(folder / "site"))
            self.inside = str(folder) if python.root is None else "/" + str(folder.relative_to(python.root))
            self.python, self.command = python.path, f"{self.inside}/site/bin/genba"
            self.environment["PYTHONPATH"] = f"{self.inside}/site"
        (folder / "app.py").write_text(PROGRAM)
        self.environment |= {"HOME": self.inside, "XDG_CACHE_HOME": f"{self.inside}/cache"}

    @staticmethod
    def pip(pip: list[str], wheel: Path, *options: str) -> None:
        subprocess.run([*pip, "install", "--quiet", "--no-index", *options, str(wheel)], check=True)

    def run(self, *command: str) -> subprocess.CompletedProcess:
        enter = [CHROOT, str(self.root)] if self.root else []
        full = [*enter, "/usr/bin/env", f"--chdir={self.inside}", *command]
        return subprocess.run(full, capture_output=True, text=True, timeout=120, env=self.environment)


@pytest.fixture(scope="module")
def installed(python: Interpreter, wheel: Path, tmp_path_factory: pytest.TempPathFactory):
    name = f"genba-wheel-{python.name}-{os.getpid()}"
    folder = python.root / "tmp" / name if python.root else tmp_path_factory.mktemp(name)
    folder.mkdir(exist_ok=True)
    yield Installed(python, wheel, folder)
    shutil.rmtree(folder)


def test_the_tag_fits_every_cpython(wheel: Path) -> None:
    assert wheel.name.startswith("genba-") and "-py3-none-" in wheel.name, wheel.name
    assert wheel.name.endswith("manylinux_2_17_x86_64.whl"), wheel.name


def test_the_command(installed: Installed) -> None:
    done = installed.run(installed.command, "--version")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout.startswith("genba "), done.stdout


def test_python_m_genba_runs_with_its_own_interpreter(installed: Installed) -> None:
    done = installed.run(installed.python, "-m", "genba", "run", "app.py")
    assert done.returncode == 3, done.stderr
    assert done.stdout == f"{installed.python}\n", done.stdout
    assert done.stderr.splitlines()[-1].startswith("recorded app.genba ("), done.stderr


def test_importing_does_nothing(installed: Installed) -> None:
    code = (
        "import sys, threading, os; before = (set(os.listdir('/proc/self/task')), dict(os.environ));"
        " import genba; after = (set(os.listdir('/proc/self/task')), dict(os.environ));"
        " print(before == after, genba.find_command())"
    )
    done = installed.run(installed.python, "-c", code)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout == f"True {installed.command}\n", done.stdout


def test_a_missing_command_is_said_with_a_hint(installed: Installed) -> None:
    command = installed.folder / Path(installed.command).relative_to(installed.inside)
    aside = command.with_name("genba-aside")
    command.rename(aside)
    try:
        done = installed.run(installed.python, "-m", "genba", "run", "app.py")
    finally:
        aside.rename(command)
    assert done.returncode == 2, done
    first, *_, last = done.stderr.splitlines()
    assert first == "error: the genba command is not installed beside this package", done.stderr
    assert last.startswith("hint: ") and last.endswith(" genba-*.whl"), done.stderr


def test_the_types_are_checked() -> None:
    tool = REPOSITORY / "build/tools/bin/mypy"
    if not tool.exists():
        pytest.skip("no mypy in build/tools (make prepare)")
    command = [str(tool), "--strict", "--no-error-summary", "--cache-dir", "/dev/null", "python/genba"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_command_behind_it_says_what_it_is_for() -> None:
    assert "within" not in genba_said("--help")
