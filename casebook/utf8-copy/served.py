"""How many requests of wrk each form of the server answers, by turns. All of it is on one CPU: no request waits until another CPU wakes up.

Of each form the best turn counts, because others can only take time away.
"""

import os
import re
import subprocess
import sys

FOLDER = os.path.dirname(os.path.realpath(__file__))
FORMS = ("slow.py", "fixed.py", "constant.py")
TURNS = 5


def requests(port: str) -> float:
    """A second of them."""
    command = ["wrk", "-t", "1", "-c", "1", "-d", "1", f"http://127.0.0.1:{port}/"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(re.search(r"^Requests/sec: +([\d.]+)$", said, re.MULTILINE)[1])


def main() -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    # A connection that wrk closes in the middle of a request is no news.
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    servers = [subprocess.Popen([sys.executable, f"{FOLDER}/{form}", "0"], **options) for form in FORMS]
    try:
        ports = [server.stdout.readline().strip() for server in servers]
        turns = [[requests(port) for port in ports] for _ in range(TURNS)]
    finally:
        for server in servers:
            server.kill()
    best = [max(counts) for counts in zip(*turns, strict=True)]
    for form, count in zip(FORMS, best, strict=True):
        print(f"{form:11} {count:7,.0f} requests a second, {count / best[0]:.2f} times those of slow.py")


if __name__ == "__main__":
    main()
