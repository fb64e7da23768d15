"""Programs that lose the way to their recording (another root, another user, a folder covered by a mount) and fork after that.

The recording goes on in parent and children, and the program's table of descriptors is what it was, numbers included.
"""

import os

import pytest

from both_ways import same_both_ways
from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from recording import Workshop
from seccomp import FILTER


PROGRAM = """
import ctypes, fcntl, os, resource, sys, tempfile, threading
import time
libc = ctypes.CDLL(None, use_errno=True)
how, folder, recording = sys.argv[1:]

def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: sum(range(1000))

def descriptors():
    found = []
    for number in range(1024):
        try: found.append((number, fcntl.fcntl(number, fcntl.F_GETFD)))
        except OSError: pass
    return found

def done(result):
    if result != 0: raise OSError(ctypes.get_errno(), how)

def lose():
    if how == "root":
        os.chroot(tempfile.mkdtemp(dir=folder))
    elif how == "user":
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
    else:
        done(libc.unshare(0x20000))
        private = 1 << 18 | 1 << 14
        done(libc.mount(None, b"/", None, private, None))
        done(libc.mount(b"cover", folder.encode(), b"tmpfs", 0, None))
    try: os.open(recording, os.O_WRONLY)
    except OSError: return
    sys.exit(how + ": the recording can still be opened")

def in_the_parent(): burn(0.1)
def in_the_child(): burn(0.2)

lose()
before = descriptors()
for _ in range(5):
    child = os.fork()
    if child == 0:
        in_the_child()
        os._exit(descriptors() != before)
    assert descriptors() == before
    in_the_parent()
    assert os.waitpid(child, 0)[1] == 0, "the child has other descriptors"
assert descriptors() == before, (before, descriptors())
print(1)
"""


@pytest.mark.parametrize("how", ["root", "user", "mount"])
def test_the_recording_goes_on_after_a_fork(workshop: Workshop, how: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can change the root, the user and the mounts")
    if how == "mount" and workshop.interpreter.root is not None:
        pytest.skip("the folder of the Debian sid is no mount of its own: what is mounted there would not stay private")
    folder = workshop.place.inside
    # The program's parts are read before the way is lost; the recording is root's, mode 0600.
    run = workshop.run(workshop.write("lost.py", PROGRAM), how, folder, f"{folder}/recording-0.genba")
    if how == "mount" and "Operation not permitted" in run.stderr:
        pytest.skip("mounting is not permitted here")
    assert run.answer() == 1, run.stderr
    assert "warning: process" not in run.stderr
    profile = run.profile()
    ended = [process["ended"] for process in profile["processes"]]
    assert ended == ["exit"] * 6, run.check().stdout
    for function in ("in_the_parent", "in_the_child"):
        assert profile.sum("samples", lambda row: function in row.names()) > 0, function


APART = """
import ctypes, tempfile, threading
libc = ctypes.CDLL(None, use_errno=True)

def apart():
    os.stat("/"), tempfile.gettempdir(), time.process_time()
    assert libc.unshare(0x200) == 0
    os.chroot(tempfile.mkdtemp())
    for _ in range(2):
        child = os.fork()
        if child == 0:
            during(150)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0

genba.start("apart.genba", children=True)
thread = threading.Thread(target=apart)
thread.start()
thread.join()
after(100)
genba.stop()
"""


def test_a_thread_that_goes_elsewhere_unseen(inside: Inside) -> None:
    """`import genba` wraps no calls: that a thread has a root of its own is known of none."""
    if os.geteuid() != 0:
        pytest.skip("only root can change the root")
    inside.said("import warnings\nwarnings.simplefilter('ignore')\n" + APART)
    profile = inside.recording("apart.genba").profile()
    assert len(profile["processes"]) == 3, profile["processes"]
    for function in ("during", "after"):
        assert profile.sum("samples", lambda row, name=function: name in row.names()) > 0, function


WITHOUT_SOCKETS = FILTER + """
import warnings
warnings.simplefilter("always")
install([41], 1)
os.setgroups([]); os.setgid(65534); os.setuid(65534)
for _ in range(2):
    child = os.fork()
    if child == 0:
        os._exit(3)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_where_no_socket_is_to_be_had_the_program_forks_as_alone(workshop: Workshop) -> None:
    """What the sampler has cannot be handed over: it parks all the same, and the fork finds a process of one thread."""
    if os.geteuid() != 0:
        pytest.skip("only root can change the user")
    same_both_ways(workshop, workshop.write("sockets.py", WITHOUT_SOCKETS))
