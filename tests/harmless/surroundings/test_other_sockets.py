"""A preloaded library with sockets of its own, as a proxy's: they are the program's. genba asks the kernel for those that it needs itself, where a
fork has lost the way to the recording."""

import subprocess
from pathlib import Path

import pytest

from built import PROGRAMS
from profile_tables import RUNNING
from recording import Workshop

# One message at a time, so that each is one call on either side.
PROGRAM = """
import os, socket, sys, tempfile, threading, time

def hot(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until: sum(range(1000))

def in_the_child(): hot(0.2)

def serve():
    taken, _ = server.accept()
    while said := taken.recv(32): taken.sendall(said[::-1])
    taken.close()

server = socket.create_server(("127.0.0.1", 0))
thread = threading.Thread(target=serve)
thread.start()
asks = socket.socket()
asks.connect(("192.0.2.1", server.getsockname()[1]))
for number in range(200):
    said = b"%032d" % number
    asks.sendall(said)
    assert asks.recv(32) == said[::-1]
    hot(0.001)
asks.close()
thread.join()
server.close()

child = os.fork()
if child == 0:
    if os.geteuid() == 0: os.chroot(tempfile.mkdtemp(dir=sys.argv[1]))
    below = os.fork()
    if below == 0:
        in_the_child()
        os._exit(0)
    os._exit(os.waitpid(below, 0)[1] != 0)
print(os.waitpid(child, 0)[1], number)
sys.exit(7)
"""


@pytest.fixture(scope="session")
def other_sockets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("sockets") / "other_sockets.so"
    subprocess.run(["cc", "-O1", "-w", "-shared", "-fPIC", str(PROGRAMS / "other_sockets.c"), "-o", str(built), "-ldl"], check=True)
    return built


@pytest.mark.parametrize("place", ["behind", "before"])
def test_a_layer_of_sockets_that_is_preloaded(workshop: Workshop, other_sockets: Path, place: str) -> None:
    """Set for the program alone, so that genba's library puts itself in front of it, or for `genba run`, too."""
    library = workshop.take(other_sockets)
    target = [workshop.interpreter.path, workshop.write("asks.py", PROGRAM), workshop.place.inside]
    told = {"CALLED": f"{workshop.place.inside}/called", "LD_PRELOAD": library}
    with_told = ["env", *(f"{name}={value}" for name, value in told.items()), *target]
    alone = subprocess.run(
        workshop.place.command(with_told), cwd=workshop.place.outside, env=workshop.place.environment({}), capture_output=True, text=True, timeout=120
    )
    assert (alone.returncode, alone.stdout) == (7, "0 199\n"), alone
    called = workshop.place.outside / "called"
    saw_genba, *calls = called.read_text().splitlines()
    assert saw_genba == "0" and "connect 1" in calls and "send 400" in calls, calls
    called.unlink()
    if place == "behind":
        run = workshop.run_target(with_told)
    else:
        run = workshop.run_target(target, environment=told)
    assert (run.exit_code, run.stdout) == (7, alone.stdout), run.stderr
    assert called.read_text().splitlines() == ["1", *calls], "genba's library called these, or kept a call of the program's to itself"
    run.check_laws()
    profile = run.profile()
    # The grandchild's recording goes on by a socket of genba's where the root is another one.
    assert [process["ended"] for process in profile["processes"]] == ["exit"] * 3, run.check().stdout
    for function in ("hot", "in_the_child"):
        assert profile.sum("samples", lambda row, function=function: row.state in RUNNING and function in row.names()) > 20, function
