"""`python tests/serve/abandoned.py FOLDER STACKS`: what a page of the server takes, idle and behind 1,000 requests that nobody waits for; benches/goals/crowd.py makes a row of it.

Owns: the amounts. Never: judges.
"""

import itertools
import json
import socket
import statistics
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / folder) for folder in ("", "workshop", "judging", "soaking")]

from served import Server
from visitors import CROWD

ROUNDS = 5


def main() -> None:
    server = Server(Path(sys.argv[1]) / "abandoned").start()
    try:
        client = server.client()
        made = client.push(Path(sys.argv[2]).read_bytes(), "crowd.txt")
        # Each question is another one: none is answered from memory.
        shares = itertools.count(1)
        path = lambda: f"/api/recordings/{made['id']}/tree?min_share={10 + next(shares) / 1_000}"

        def seconds() -> float:
            began = time.perf_counter()
            client.get(path()).expect(200)
            return time.perf_counter() - began

        idle = statistics.median(seconds() for _ in range(ROUNDS))
        behind = []
        for _ in range(ROUNDS):
            for _ in range(CROWD):
                with socket.create_connection(("127.0.0.1", server.port)) as stranger:
                    stranger.sendall(f"GET {path()} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            behind.append(seconds())
    finally:
        server.end()
    print(json.dumps({"idle_seconds": idle, "behind_seconds": statistics.median(behind)}))


if __name__ == "__main__":
    main()
