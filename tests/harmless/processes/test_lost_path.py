"""Programs that lose the way to their recording (another root, another user, a folder covered by a mount) and fork after that.

The recording goes on in parent and children, and the program's table of descriptors is what it was, numbers included.
"""

import os

import pytest

from recording import Workshop


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
