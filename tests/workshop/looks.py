"""What a test's program begins with to go on until genba has looked at it often enough, on a busy machine too.

Owns: the count of genba's looks: how often its thread has had a CPU, which the kernel tells (/proc/PID/task/TID/schedstat). An amount of work says
nothing of that on a busy machine, where the sampler may get no CPU for as long as the work takes. Never: waits where nothing is recorded.
"""

LOOKS = '''
import os, time

def looks():
    """How often genba's thread has had a CPU; none where there is no such thread."""
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as name, open(f"/proc/self/task/{task}/schedstat") as counts:
                if name.read() == "genba\\n":
                    return int(counts.read().split()[2])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return 0

class Looked:
    """Looks from now on. After a fork another thread of genba's begins its count anew."""
    def __init__(self):
        self.last, self.count, self.until = looks(), 0, time.monotonic() + 60
    def often(self, enough):
        now = looks()
        assert now or time.monotonic() < self.until, "nothing tells of a look of genba's in a minute"
        self.count += now - self.last if now >= self.last else now
        self.last = now
        return self.count >= enough
'''
