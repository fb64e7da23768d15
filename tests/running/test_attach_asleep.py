"""A thread that does not wake while genba is attached: its stack is read in the first moments, before all tables are made, and no second time by chance."""

from recording import Workshop
from running_program import started

ASLEEP = """\
import threading, time
taken = threading.Lock()
taken.acquire()
threading.Thread(target=taken.acquire, daemon=True).start()
print("ready", flush=True)
while True:
    time.sleep(0.001)
"""


def test_the_stack_in_c_is_whole_once_the_tables_are_there(workshop: Workshop) -> None:
    with started(workshop, workshop.write("asleep.py", ASLEEP)) as program:
        run = program.recorded("asleep.genba", "--duration", "3s")
    # The main thread alone sleeps for a time.
    asleep = [stack for stack in run.collapsed("--weight", "wall") if not any(frame.name == "time.sleep" or "<module>" in frame.name for frame in stack.frames)]
    asleep = [stack for stack in asleep if any("sem" in frame.name or "lock" in frame.name.lower() for frame in stack.frames)]
    whole = sum(stack.weight for stack in asleep)
    cut = sum(stack.weight for stack in asleep if any("C stack cut: no unwind row" in frame.name for frame in stack.frames))
    assert whole > 1_000_000_000 and cut < 0.5 * whole, "\n".join(map(str, asleep))
