"""A thread that does not wake while genba is attached: its stack is read in the first moments, before all tables are made, and no second time by chance."""

from profile_tables import Profile, Row
from recording import Workshop
from running_program import started, until_it_holds

ASLEEP = """\
import threading, time
taken = threading.Lock()
taken.acquire()
threading.Thread(target=taken.acquire, daemon=True).start()
print("ready", flush=True)
while True:
    time.sleep(0.001)
"""


def asleep_ns(profile: Profile, *, cut: bool) -> int:
    """Of the thread that waits for the lock: in stacks that are cut, or in whole ones."""

    def wanted(row: Row) -> bool:
        return "Thread.run" in row.names() and any("C stack cut: no unwind row" in name for name in row.names()) == cut

    return profile.sum("wall_ns", wanted)


def test_the_stack_in_c_is_whole_once_the_tables_are_there(workshop: Workshop) -> None:
    """A second of whole stacks, whenever the tables are there. None comes where the stack of the first moments stays what is shown."""
    with started(workshop, workshop.write("asleep.py", ASLEEP)) as program, program.recording("asleep.genba") as run:
        until_it_holds(run, lambda profile: asleep_ns(profile, cut=False) > 1_000_000_000)
    whole = [stack for stack in run.collapsed("--weight", "wall") if any(frame.name == "Thread.run" for frame in stack.frames)]
    whole = [stack for stack in whole if not any("C stack cut: no unwind row" in frame.name for frame in stack.frames)]
    # Down to the call in which the kernel lets it wait.
    assert any("sem" in frame.name or "lock" in frame.name.lower() for stack in whole for frame in stack.frames), "\n".join(map(str, whole))
