"""A process that `genba top PID` cannot record beside those that it does: the screen says so, and all the words come when it is gone."""

import os
import subprocess
from contextlib import closing
from pathlib import Path

import interpreters
from multiplexer import Window
from recording import genba
from seccomp import FILTER
from test_top import TOP

# The child's filter ends it at clone or clone3, by which genba's thread would be made. Both work until somebody makes the file `stop`.
APP = FILTER.replace("0x00050000 | error", "0x80000000") + """
told, tells = os.pipe()
if os.fork() == 0:
    install([56, 435], errno.EPERM)
    os.write(tells, str(os.getpid()).encode())
    while not os.path.exists("stop"):
        sum(range(10_000))
    os._exit(0)
print(os.read(told, 100).decode(), flush=True)
while not os.path.exists("stop"):
    sum(range(20_000))
raise SystemExit(os.wait()[1] != 0)
"""


def test_a_child_that_cannot_be_entered(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    own = {"HOME": str(tmp_path), "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]}
    with subprocess.Popen([interpreters.from_pyenv()[-1].path, "app.py"], cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            child = process.stdout.readline().strip()
            with closing(Window(tmp_path, f"{TOP} {process.pid}", 200, 60, **own)) as top:
                page = top.until(f"\nprocess {child} is not recorded: cannot enter process {child}: ")
                assert "seccomp filter" in page and "hint: " not in page, page
                top.until("sum(range(20_000))")
                top.types("q")
                code, page = top.ends()
        finally:
            (tmp_path / "stop").touch()
        assert process.wait(timeout=60) == 0
    assert code == 0 and f"note: process {child} is not recorded: error: cannot enter process {child}\n" in page and "hint: " in page, page
    # The rest is as it is where nothing is missed.
    assert page.strip().splitlines()[-1] == "the process goes on, its recording has ended: app.genba · next: genba report app.genba", page
    assert genba("check", tmp_path / "app.genba").returncode == 0
