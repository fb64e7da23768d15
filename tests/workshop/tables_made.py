"""A program that goes on until genba has compiled its unwind rows, however long that takes, and how many stacks are whole from then on.

Owns: that program, and what a whole stack is. Never: knows whether rows were kept.
"""

from recording import Run

# Where rows have to be compiled there are none at first: `afterwards` comes when genba's thread has no work, and waits for no CPU, for most of
# the time. One look may find it waiting for a disk.
HASHES = """
import hashlib, os, time
data = bytes(1 << 20)
def hashes(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until: hashlib.sha256(data).digest()
def of_genba():
    for task in os.listdir("/proc/self/task"):
        if open(f"/proc/self/task/{task}/comm").read() == "genba\\n":
            return sum(map(int, open(f"/proc/self/task/{task}/schedstat").read().split()[:2]))
    return 0
def at_first():
    quiet = 0
    while quiet < 3:
        began_ns, before_ns = time.monotonic_ns(), of_genba()
        hashes(0.05)
        quiet = quiet + 1 if before_ns > 0 and of_genba() - before_ns < (time.monotonic_ns() - began_ns) / 4 else 0
def afterwards():
    hashes(0.2)
at_first()
afterwards()
"""


def share_of_whole(run: Run) -> float:
    assert run.exit_code == 0, run.stderr
    stacks = [stack for stack in run.collapsed() if any(frame.name == "afterwards" for frame in stack.frames)]
    whole = sum(stack.weight for stack in stacks if any(frame.kind == "c" for frame in stack.frames[:2]))
    return whole / sum(stack.weight for stack in stacks)
