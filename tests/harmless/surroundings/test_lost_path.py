"""Programs that lose the way to their recording (another root, another user, a folder covered by a mount) and fork after that.

The recording goes on in parent and children, and the program's table of descriptors is what it was, numbers included. A process that loses the
way before genba sees it do so is counted.
"""

import os

import pytest

from both_ways import same_both_ways
from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from looks import LOOKS
from recording import Run, Workshop
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


AT_ONCE = """
import ctypes, os, sys, tempfile, time
libc = ctypes.CDLL(None, use_errno=True)
how, folder, children = sys.argv[1], sys.argv[2], int(sys.argv[3])
empty = tempfile.mkdtemp(dir=folder).encode()
SYS_CHROOT = 161

def done(result):
    if result != 0: raise OSError(ctypes.get_errno(), how)

def in_the_grandchild():
    until = time.process_time() + 0.02
    while time.process_time() < until: sum(range(1000))

def lose():
    if how == "root": os.chroot(empty)
    elif how == "user": os.setuid(65534)
    elif how == "effective user": os.seteuid(65534)
    elif how == "unseen": done(libc.syscall(SYS_CHROOT, empty))
    else:
        done(libc.unshare(0x20000))
        private = 1 << 18 | 1 << 14
        done(libc.mount(None, b"/", None, private, None))
        done(libc.mount(b"cover", folder.encode(), b"tmpfs", 0, None))

for _ in range(children):
    child = os.fork()
    if child == 0:
        lose()
        if how == "unseen": os._exit(0)
        below = os.fork()
        if below == 0:
            in_the_grandchild()
            os._exit(0)
        os._exit(os.waitpid(below, 0)[1] != 0)
    assert os.waitpid(child, 0)[1] == 0
print(1)
"""
CHILDREN = 20


def lost_at_once(workshop: Workshop, how: str) -> Run:
    if os.geteuid() != 0:
        pytest.skip("only root can change the root, the user and the mounts")
    if how == "mount" and workshop.interpreter.root is not None:
        pytest.skip("the folder of the Debian sid is no mount of its own: what is mounted there would not stay private")
    run = workshop.run(workshop.write("at_once.py", AT_ONCE), how, workshop.place.inside, str(CHILDREN))
    if how == "mount" and "Operation not permitted" in run.stderr:
        pytest.skip("mounting is not permitted here")
    assert run.answer() == 1, run.stderr
    return run


@pytest.mark.parametrize("how", ["root", "user", "effective user", "mount"])
def test_the_recording_goes_on_where_that_is_a_child_s_first_act(workshop: Workshop, how: str) -> None:
    """Before genba's thread in it has opened the recording, for which the call waits."""
    run = lost_at_once(workshop, how)
    ended = [process["ended"] for process in run.profile()["processes"]]
    assert ended == ["exit"] * (1 + 2 * CHILDREN), run.check().stdout
    assert run.profile().sum("samples", lambda row: "in_the_grandchild" in row.names()) > 0
    assert "recording out of reach" not in {row["reason"] for row in run.report_json()["not_followed"]}


def test_a_child_that_has_lost_the_way_unseen_is_recorded_or_counted(workshop: Workshop) -> None:
    """genba wraps no raw system calls: where that one comes first, there is no way to the recording any more."""
    run = lost_at_once(workshop, "unseen")
    rows = run.report_json()["not_followed"]
    assert {row["reason"] for row in rows} <= {"recording out of reach"} and not any(row["python"] for row in rows), rows
    counted = sum(row["count"] for row in rows)
    assert len(run.profile()["processes"]) + counted == 1 + CHILDREN, run.check().stdout
    said = f"(recording out of reach){f' × {counted}' if counted > 1 else ''}"
    assert not counted or said in run.report(), run.report()


WITHOUT_TABLE = FILTER + LOOKS + """
import tempfile, time
SYS_CHROOT, UNSHARE, CLOSE_RANGE = 161, 272, 436
# Until a block of this process is written: the third comes after 90 ms, where genba's thread has a CPU.
looked = Looked()
while time.process_time() < 0.4 or not looked.often(100): sum(range(1000))
if libc.syscall(SYS_CHROOT, tempfile.mkdtemp(dir=sys.argv[1]).encode()) != 0: raise OSError(ctypes.get_errno(), "chroot")
install([UNSHARE, CLOSE_RANGE], errno.ENOSYS)
child = os.fork()
if child == 0: os._exit(0)
print(os.waitpid(child, 0)[1])
"""


def test_a_child_that_may_have_no_table_of_its_own_says_so(workshop: Workshop) -> None:
    """Its parent has lost the way to the recording: genba hands it over."""
    if os.geteuid() != 0:
        pytest.skip("only root can change the root")
    run = workshop.run(workshop.write("table.py", WITHOUT_TABLE), workshop.place.inside)
    assert run.answer() == 0, run.stderr
    assert not run.report_json()["not_followed"], run.stderr
    [_, child] = run.profile()["processes"]
    assert "close_range, unshare" in child["refused"], child


OUT_OF_REACH = FILTER + LOOKS + """
import atexit, tempfile, time, urllib.parse
SYS_CHROOT, UNSHARE, CLOSE_RANGE = 161, 272, 436
fields = dict(field.partition("=")[::2] for field in os.environ["GENBA_SESSION"].split(";"))
heaps = urllib.parse.unquote(fields["heap_out"])
root, proc = tempfile.mkdtemp(dir=sys.argv[1]), os.open("/proc", os.O_RDONLY)
# A file of that name, which is none of genba's.
os.makedirs(root + os.path.dirname(heaps))
open(root + heaps, "w").close()
# Until a block of this process is written, and genba's function is among those for the end.
looked = Looked()
while time.process_time() < 0.4 or not looked.often(100) or not atexit._ncallbacks(): sum(range(1000))
if libc.syscall(SYS_CHROOT, root.encode()) != 0: raise OSError(ctypes.get_errno(), "chroot")
install([UNSHARE, CLOSE_RANGE], errno.ENOSYS)
child = os.fork()
if child == 0:
    threads = os.open("self/task", os.O_RDONLY, dir_fd=proc)
    # Until genba's has ended.
    while len(os.listdir(threads)) > 1: pass
    sys.exit(0)
print([os.waitpid(child, 0)[1], os.stat(heaps).st_size])
"""


def test_a_file_of_that_name_in_another_root_gets_no_heap(workshop: Workshop) -> None:
    """The child has the function for the end from its parent, and genba hands it the recording. The way to the file for heaps is lost."""
    if os.geteuid() != 0:
        pytest.skip("only root can change the root")
    run = workshop.run(workshop.write("heaps.py", OUT_OF_REACH), workshop.place.inside, flags=("--heap-at-exit",))
    assert run.answer() == [0, 0], run.stderr


APART = """
import ctypes, tempfile, threading
libc = ctypes.CDLL(None, use_errno=True)

# There is no /proc to count genba's looks by.
def during(cpu_s):
    end = time.process_time() + cpu_s
    while time.process_time() < end:
        sum(range(1000))

def apart():
    os.stat("/"), tempfile.gettempdir(), time.process_time()
    assert libc.unshare(0x200) == 0
    os.chroot(tempfile.mkdtemp())
    for _ in range(2):
        child = os.fork()
        if child == 0:
            during(0.4)
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
