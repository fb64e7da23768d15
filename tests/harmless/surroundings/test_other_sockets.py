"""A preloaded library with sockets of its own, as a proxy's: they are the program's. genba asks the kernel for those that it needs itself, where a
fork has lost the way to the recording."""

from pathlib import Path

import pytest

from preloaded import Preloaded, behind_and_before, build
from profile_tables import RUNNING
from recording import Workshop

# One message at a time, so that each is one call on either side.
PROGRAM = """
import os, socket, sys, tempfile, threading, time

def hot(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until: sum(range(1000))

def in_the_child(): hot(0.6)

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
    hot(0.003)
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
    return build(tmp_path_factory.mktemp("sockets"), "other_sockets")


@behind_and_before
def test_a_layer_of_sockets_that_is_preloaded(workshop: Workshop, other_sockets: Path, place: str) -> None:
    target = [workshop.interpreter.path, workshop.write("asks.py", PROGRAM), workshop.place.inside]
    program = Preloaded(workshop, workshop.take(other_sockets), target)
    alone = program.alone()
    assert (alone.returncode, alone.stdout) == (7, "0 199\n"), alone
    saw_genba, *calls = program.called()
    assert saw_genba == "0" and "connect 1" in calls and "send 400" in calls, calls
    run = program.recorded(place)
    assert (run.exit_code, run.stdout) == (7, alone.stdout), run.stderr
    assert program.called() == ["1", *calls], "genba's library called these, or kept a call of the program's to itself"
    run.check_laws()
    profile = run.profile()
    # The grandchild's recording goes on by a socket of genba's where the root is another one.
    assert [process["ended"] for process in profile["processes"]] == ["exit"] * 3, run.check().stdout
    for function in ("hot", "in_the_child"):
        assert profile.sum("samples", lambda row, function=function: row.state in RUNNING and function in row.names()) > 20, function
