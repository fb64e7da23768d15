"""A work of `make bench` that begins when it is told to: somebody may attach before.

argv: a name of WORKS. Says that it is there, waits for a line on stdin, and says what the work cost while it ran, as workload.py does.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from workload import measured
from works import WORKS

if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(measured(WORKS[sys.argv[1]])), flush=True)
