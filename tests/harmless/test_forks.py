"""Forks: what they leave in memory, and what becomes of a recording when one cannot wait for the sampler."""

import json

from recording import Workshop

GENERATIONS = 200
PAGE_KB = 4

CHAIN = """
import json, os, sys, time
def anonymous_kb():
    [line] = [line for line in open("/proc/self/status") if line.startswith("RssAnon")]
    return int(line.split()[1])
def work():
    until = time.process_time() + 0.004
    while time.process_time() < until: sum(range(300))
seen = {}
for generation in range(int(sys.argv[1]) + 1):
    work()
    seen[generation] = anonymous_kb()
    if os.fork(): os._exit(0)
print(json.dumps(seen))
"""


def test_a_chain_of_forks_needs_no_more_from_one_to_the_next(workshop: Workshop) -> None:
    """Each process is the child of the last, so that what one leaves in its memory all later ones have."""
    run = workshop.run(workshop.write("chain.py", CHAIN), str(GENERATIONS), flags=("--quiet",))
    assert run.exit_code == 0, run.stderr
    seen = {int(generation): kb for generation, kb in json.loads(run.stdout).items()}
    settled = 20
    grown_kb = seen[GENERATIONS] - seen[settled]
    assert grown_kb <= (GENERATIONS - settled) * PAGE_KB, seen
    assert len(run.profile()["processes"]) >= GENERATIONS
