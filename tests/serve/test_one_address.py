"""Several servers behind one address, as docs/serve.md has them: each connection goes to the next server, and nobody notices.

Owns: that address. Never: kills a server (test_several_servers.py and cluster.py do).
"""

import contextlib
import itertools
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import crafted
from client import Client
from recording import binary
from served import Server, environment

pytestmark = pytest.mark.measures
LARGE_BYTES, PIECE_BYTES = 12_000_000, 400


def pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(1 << 16):
            target.sendall(piece)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def one_address(servers: tuple[Server, Server]) -> Iterator[int]:
    """Its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with contextlib.suppress(OSError):
            for server in itertools.cycle(servers):
                here = listener.accept()[0]
                there = socket.create_connection(("127.0.0.1", server.port))
                for ends in ((here, there), (there, here)):
                    threading.Thread(target=pass_on, args=ends, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()


def parts_taken(server: Server) -> int:
    said = server.client().get("/metrics").expect(200).body.decode()
    found = re.search(r'^genba_http_requests_total\{route="/api/recordings/\{id\}/content",status="204"\} (\d+)$', said, re.MULTILINE)
    return int(found[1]) if found else 0


def test_uploads_lists_and_live_recordings_behind_one_address(pair: tuple[Server, Server], golden: bytes, honest: bytes, tmp_path: Path) -> None:
    large = crafted.Crafted(seed=3).padded(LARGE_BYTES)
    (tmp_path / "large.genba").write_bytes(large)
    with one_address(pair) as port:
        client = Client(port)
        # Each request has a connection of its own.
        made = client.push_in_pieces(golden, PIECE_BYTES, tags=["main"])
        assert all(parts_taken(server) > 0 for server in pair)
        command = [str(binary()), "push", "large.genba", f"http://127.0.0.1:{port}"]
        variables = environment({"XDG_CACHE_HOME": str(tmp_path / "cache")})
        done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        pushed = done.stdout.strip().rpartition("/")[2]
        for _ in pair:
            assert [one["id"] for one in client.recordings(sort="oldest")] == [made["id"], pushed]
            assert client.content(made["id"]) == golden and client.content(pushed) == large
            assert [one["id"] for one in client.recordings(q="tag:main")] == [made["id"]]
        live = client.begin("live.genba", live=True)
        client.append(live, 0, honest).expect(204)
        seen = []
        for name, told in client.events(live):
            seen.append((name, told["bytes"]))
            if seen == [("grown", len(honest))]:
                client.append(live, len(honest), golden).expect(204)
                client.seal(live, honest + golden).expect(200)
        assert seen[0] == ("grown", len(honest)) and seen[-1] == ("sealed", len(honest) + len(golden))
