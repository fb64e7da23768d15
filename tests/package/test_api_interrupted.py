"""Calls of `import genba` that an exception ends at any moment (Ctrl-C, a signal handler's), and pauses in the middle of which something else
happens: nothing stays behind that nobody knows of, and what passed in a pause is in no sample."""

from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)


# `ended_at(call, moment)`: the call is ended by an exception at its so manieth moment at which CPython looks for signals: where a Python
# function begins and where a C function has returned. False: it has not so many.
INTERRUPTED = """
import sys

class Interrupted(BaseException):
    pass

def ended_at(call, moment):
    moments = 0

    def profile(frame, event, argument):
        nonlocal moments
        if event not in ("call", "c_return"):
            return
        if argument is sys.setprofile or is_lock(argument) or is_deleted(frame):
            return
        moments += 1
        if moments == moment:
            raise Interrupted

    sys.setprofile(profile)
    try:
        call()
    except Interrupted:
        return True
    finally:
        sys.setprofile(None)
    return False

def is_deleted(frame):
    # An exception in there goes nowhere.
    return frame is not None and (frame.f_code.co_name == "__del__" or is_deleted(frame.f_back))

def is_lock(function):
    # From 3.14 on an exception can come between a lock's `__enter__` and the body of the `with`, for every lock (docs/limits.md).
    return sys.version_info >= (3, 14) and getattr(function, "__name__", "") == "__enter__"
"""


def test_a_start_that_is_interrupted(inside: Inside) -> None:
    """It leaves no recording, no file, and the next one begins."""
    lines = inside.said(
        INTERRUPTED
        + """
genba.start("before.genba")
genba.stop(finish=False)

def recorded():
    genba.record("app.genba").__enter__()

for call in (lambda: genba.start("app.genba"), recorded):
    moment = 1
    while ended_at(call, moment):
        assert not genba.is_active(), moment
        assert not os.path.exists("app.genba"), moment
        moment += 1
    print(moment > 20)
    if genba.is_active():
        genba.stop(finish=False)
    os.unlink("app.genba")
"""
    )
    assert lines == ["True", "True"]


def test_a_start_that_fails_leaves_other_files_alone(inside: Inside) -> None:
    inside.said(
        """
with open("app.genba", "w") as file:
    file.write("somebody's")
try:
    genba.start("app.genba")
except FileExistsError:
    pass
assert open("app.genba").read() == "somebody's"
"""
    )


def test_a_snapshot_that_is_interrupted(inside: Inside) -> None:
    lines = inside.said(
        INTERRUPTED
        + """
import glob, tempfile
tempfile.tempdir = os.getcwd()
genba.snapshot()
moment = 1
while ended_at(genba.snapshot, moment):
    assert not genba.is_active(), moment
    moment += 2
print(moment > 40, [frame.name for frame in genba.snapshot() if frame.kind == "python"], glob.glob("genba-*.genba"))
"""
    )
    assert lines == ["True ['<module>'] []"]


def test_a_decorated_call_that_is_interrupted(inside: Inside) -> None:
    """Before the function has begun: the next call is a recording again, and no other one goes on."""
    lines = inside.said(
        INTERRUPTED
        + """
import glob

@genba.record("app.genba", force=True)
def work():
    sys.setprofile(None)

work()
moment = 1
while ended_at(work, moment):
    assert not genba.is_active(), moment
    moment += 1
print(moment > 100)
os.unlink("app.genba")
work()
print(glob.glob("*.genba"))
"""
    )
    assert lines == ["True", "['app.genba']"]


def test_a_stop_that_is_interrupted_can_be_made_again(inside: Inside) -> None:
    lines = inside.said(
        INTERRUPTED
        + """
moment = 1
while True:
    genba.start("app.genba", force=True)
    if not ended_at(genba.stop, moment):
        break
    assert genba.stop().exists(), moment
    assert not genba.is_active()
    moment += 1
print(moment > 10)
"""
    )
    assert lines == ["True"]
    inside.recording("app.genba")


def test_what_happens_in_a_pause_is_in_no_sample(inside: Inside) -> None:
    """A snapshot and a fork make the sampler do something in between."""
    lines = inside.said(
        """
genba.start("app.genba")
began_ns = time.process_time_ns()
before(100)
before_ns = time.process_time_ns() - began_ns
for number in range(12):
    genba.pause()
    during(50)
    if number % 2:
        genba.snapshot()
    else:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    genba.resume()
    time.sleep(0.002)
genba.stop()
profile = genba.open("app.genba")
print(sum(row.cpu_ns for row in profile.rows()) < before_ns + 200e6, profile.tree().find("^during$"))
"""
    )
    assert lines == ["True []"]
    inside.recording("app.genba")
