"""docs/recipes/docker.md, followed in namespaces of their own, which are what a container is made of: no test here has Docker's daemon."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from built import PROGRAMS
from recipes import COMES_UP_SECONDS, blocks, commands, environment, follow, of_a_run, running
from recording import Workshop, binary, genba_said
from running_program import until

# It has something to show when it says that it is ready, and goes on until it is asked to end, as a server does.
APP = """
import signal, sys, time
def prices():
    return sum(number % 7 for number in range(10_000))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
until = time.process_time() + 0.5
while time.process_time() < until: prices()
print("ready", flush=True)
while True: prices()
"""
# It ends by itself.
SHORT = """
import os, time
def prices():
    return sum(number % 7 for number in range(10_000))
while time.process_time() < 0.5: prices()
print(os.getuid())
"""
CONTAINER = ["unshare", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"]
# All that is mounted, as in an image whose files nobody may write, but for one folder.
READ_ONLY = 'mount --rbind / / && mount -o remount,ro,bind / && mount -o remount,ro,bind /tmp 2>/dev/null; mount -t tmpfs none "$1"; shift; exec "$@"'


@pytest.fixture(autouse=True)
def with_namespaces() -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None or subprocess.run([*CONTAINER, "true"], capture_output=True).returncode:
        pytest.skip("a pid namespace with a /proc of its own needs root and unshare (util-linux)")


@pytest.fixture
def shell(workshop: Workshop, tmp_path: Path) -> dict[str, str]:
    (tmp_path / "app.py").write_text(APP)
    return environment(workshop)


def of_the_image(data: Path) -> list[str]:
    """The recipe's CMD, with this folder as its volume."""
    [words] = [json.loads(found) for text in blocks("docker") for found in re.findall(r"^ *CMD (\[.*\])$", text, re.MULTILINE)]
    assert words[:2] == ["genba", "run"]
    return [word.replace("/data/", f"{data}/") for word in words]


def first_process(unshared: int) -> int:
    return int(Path(f"/proc/{unshared}/task/{unshared}/children").read_text())


def is_ready(folder: Path) -> bool:
    return until(lambda: "ready" in (folder / "said").read_text(), COMES_UP_SECONDS)


def test_genba_in_the_image(shell: dict[str, str], tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with running([*CONTAINER, *of_the_image(data)], tmp_path, shell) as container:
        assert is_ready(tmp_path), (tmp_path / "said").read_text()
        # As `docker stop` does.
        os.kill(first_process(container.pid), signal.SIGTERM)
        assert container.wait(timeout=60) == 5, (tmp_path / "said").read_text()
    readers = [command.replace(" --open", "") for command in commands("docker") if command.endswith(" app.genba")]
    assert len(readers) == 2
    assert "prices" in follow(readers, data, shell)["genba report app.genba"]
    assert (data / "app.html").exists()


def test_a_pod_whose_container_starts_again(shell: dict[str, str], tmp_path: Path) -> None:
    """The recording of the last start is on the volume."""
    (tmp_path / "app.py").write_text(SHORT)
    data = tmp_path / "data"
    data.mkdir()
    [words] = [json.loads(found) for text in blocks("docker") for found in re.findall(r"^ *command: (\[.*\])$", text, re.MULTILINE)]
    command = [word.replace("/data/", f"{data}/") for word in words]
    for _ in range(2):
        done = subprocess.run([*CONTAINER, *command], cwd=tmp_path, env=shell, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "recorded " in done.stderr, done.stderr
    assert [path.name for path in data.iterdir()] == ["app.genba"]


def test_an_image_that_nobody_may_write(shell: dict[str, str], tmp_path: Path) -> None:
    """With the folder that the recipe names; a container has such a folder, or a volume."""
    volume = tmp_path / "volume"
    volume.mkdir()
    inside = ["sh", "-c", READ_ONLY, "sh", str(volume), "sh", "-c", f"! touch {tmp_path}/one 2>/dev/null && exec {shlex.join(of_the_image(volume))}"]
    with running([*CONTAINER, *inside], tmp_path, {**shell, "XDG_CACHE_HOME": str(volume)}) as container:
        assert is_ready(tmp_path), (tmp_path / "said").read_text()
        genba = first_process(container.pid)
        seen = Path(f"/proc/{genba}/root{volume}")
        assert until(lambda: (seen / "app.genba").exists()) and (seen / "genba").is_dir(), list(seen.iterdir())
        os.kill(genba, signal.SIGTERM)
        assert container.wait(timeout=60) == 5, (tmp_path / "said").read_text()


def test_a_container_that_runs_already(shell: dict[str, str], tmp_path: Path) -> None:
    typed = [command for command in commands("docker") if of_a_run(command)]
    assert [command.split()[1] for command in typed] == ["ps", "dump", "attach"]
    private = ["sh", "-c", 'mount -t tmpfs none /tmp && exec "$@"', "sh"]
    if str(tmp_path).startswith("/tmp/"):
        # The folder of the test is hidden by it.
        private[2] = f'app=$(cat {tmp_path}/app.py) && mount -t tmpfs none /tmp && cd /tmp && exec python3 -c "$app"'
    with running([*CONTAINER, *private, "python3", "app.py"], tmp_path, shell) as container:
        assert is_ready(tmp_path), (tmp_path / "said").read_text()
        pid = first_process(container.pid)
        there = sorted(os.listdir(f"/proc/{pid}/root/tmp"))
        said = follow(typed, tmp_path, shell, pid)
        assert re.search(rf"^ *{pid} ", said["genba ps"], re.MULTILINE), said["genba ps"]
        assert "prices" in said["genba dump PID"], said["genba dump PID"]
        assert until(lambda: sorted(os.listdir(f"/proc/{pid}/root/tmp")) == there)
        assert len(list(tmp_path.glob("*.genba"))) == 1
        os.kill(pid, signal.SIGTERM)
        assert container.wait(timeout=60) == 5, (tmp_path / "said").read_text()


@pytest.fixture
def image() -> Iterator[Path]:
    """Every user may look into it, and root alone into its volume."""
    folder = Path("/tmp") / f"genba-image-{os.getpid()}"
    folder.mkdir(mode=0o755)
    (folder / "data").mkdir(mode=0o700)
    (folder / "python").symlink_to("/usr/bin/python3")
    (folder / "app.py").write_text(SHORT)
    (folder / "docker-entrypoint.sh").write_text('#!/bin/sh\nexec gosu app "$@"\n')
    (folder / "docker-entrypoint.sh").chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_an_entrypoint_that_gives_up_root(image: Path) -> None:
    if not Path("/usr/bin/python3").exists():
        pytest.skip("no Python here that every user may execute")
    subprocess.run(["gcc", "-static", PROGRAMS / "gosu.c", "-o", image / "gosu"], check=True)
    [entrypoint] = [json.loads(found) for text in blocks("docker") for found in re.findall(r"^ *ENTRYPOINT (\[.*\])$", text, re.MULTILINE)]
    [by_a_shell] = [shlex.split(command) for command in commands("docker") if "gosu" in command]
    environment = {"PATH": f"{image}:{binary().parent}:/usr/bin:/bin", "HOME": "/root", "XDG_CACHE_HOME": str(image / "cache")}

    def said(words: list[str]) -> subprocess.CompletedProcess[str]:
        words = [word.replace("/data/", f"{image}/data/") for word in words]
        return subprocess.run(words, cwd=image, env=environment, capture_output=True, text=True, timeout=60)

    for words, recording in (([*entrypoint, "python", "app.py"], image / "data/app.genba"), (by_a_shell, image / "sh.genba")):
        done = said(words)
        assert (done.returncode, done.stdout) == (0, "65534\n"), done.stderr
        report = " ".join(genba_said("report", recording).split())
        assert "prices" in report and "not followed: " in report and "/gosu (static)" in report, report
    refused = said(["genba", "run", *by_a_shell[-1].split()[1:]])
    assert refused.returncode == 1 and f"cannot record {image}/gosu: it is a static program\n" in refused.stderr, refused.stderr
    assert "gosu app genba run python app.py" in refused.stderr, refused.stderr
