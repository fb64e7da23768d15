"""uWSGI with one worker, recorded from its start: asked some times, then ended.

Owns: the words by which its address is known, and how it ends. Never: knows where uWSGI comes from; reads a recording.
"""

import os
import re
import signal
import urllib.request

from recording import Run, Workshop

FLAGS = ("--http-socket", "127.0.0.1:0", "--master", "--processes", "1", "--die-on-term", "--pidfile", "served.pid")
WRITES_ADDRESS = re.compile(r"bound to TCP address (127\.0\.0\.1:\d+)")


def recorded(workshop: Workshop, command: list[str], flags: list[str], environment: dict[str, str], requests: int, answer: bytes) -> Run:
    """Each request gets that answer. `flags` are those of `genba run`."""
    process = workshop.start([*command, *FLAGS], [*flags, "-o", "served.genba"], environment)
    try:
        address = next(found[1] for line in process.stderr if (found := WRITES_ADDRESS.search(line)))
        for _ in range(requests):
            with urllib.request.urlopen(f"http://{address}", timeout=30) as answered:
                assert answered.read() == answer
        os.kill(int((workshop.place.outside / "served.pid").read_text()), signal.SIGTERM)
        return workshop.finish(process, "served.genba")
    finally:
        process.kill()
