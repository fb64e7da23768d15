"""The real `genba push` of a large recording to the real server, over a line that breaks, and killed in the middle: only what did not arrive is sent again.

Owns: that line. Every way in which a server may fail a push is in crates/cli/tests/command/push.rs, with a server that is played.
"""

import contextlib
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import crafted
from recording import binary
from served import Server, environment

RECORDING_BYTES = 20_000_000
# In the middle of a piece: they begin with 1 MiB and grow to 4.
BREAKS_AT, PIECE_BYTES_MAX = 9_000_000, 4 << 20
# Of requests without their pieces.
HEADS_BYTES_MAX = 50_000


class Line:
    """Passes on what comes for a server. After so many bytes it does something, once, and breaks; then it is sound."""

    def __init__(self, server: Server, at_bytes: int, do: Callable[[], None]) -> None:
        self.server_port, self.at_bytes, self.do = server.port, at_bytes, do
        self.sent_bytes = self.breaks = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                here = self.listener.accept()[0]
                there = socket.create_connection(("127.0.0.1", self.server_port))
                threading.Thread(target=self.pass_on, args=(here, there, True), daemon=True).start()
                threading.Thread(target=self.pass_on, args=(there, here, False), daemon=True).start()

    def pass_on(self, source: socket.socket, target: socket.socket, is_request: bool) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                if is_request:
                    self.sent_bytes += len(piece)
                    if not self.breaks and self.sent_bytes >= self.at_bytes:
                        self.breaks += 1
                        self.do()
                        break
                target.sendall(piece)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def lines(server: Server) -> Iterator[Callable[[Callable[[], None]], Line]]:
    with contextlib.ExitStack() as made:

        def make(do: Callable[[], None]) -> Line:
            line = Line(server, BREAKS_AT, do)
            made.callback(line.listener.close)
            return line

        yield make


def start_push(line: Line, folder: Path, recording: bytes) -> subprocess.Popen:
    (folder / "app.genba").write_bytes(recording)
    command = [str(binary()), "push", "app.genba", f"http://127.0.0.1:{line.port}"]
    variables = environment({"XDG_CACHE_HOME": str(folder / "cache")})
    return subprocess.Popen(command, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check_arrived(server: Server, line: Line, push: subprocess.Popen, recording: bytes) -> None:
    said, errors = push.communicate(timeout=120)
    assert push.returncode == 0, errors
    client = server.client()
    [made] = client.recordings()
    assert said == f"http://127.0.0.1:{line.port}{made['url']}\n" and made["name"] == "app.genba"
    assert client.content(made["id"]) == recording
    # Only the piece that broke was sent again, and no byte was stored twice.
    assert line.breaks == 1 and line.sent_bytes < len(recording) + PIECE_BYTES_MAX + HEADS_BYTES_MAX
    assert f"genba_uploaded_bytes_total {len(recording)}\n" in client.get("/metrics").expect(200).body.decode()
    assert server.verb("check").returncode == 0


def test_a_line_that_breaks(server: Server, lines: Callable[..., Line], tmp_path: Path) -> None:
    recording = crafted.Crafted(seed=5).padded(RECORDING_BYTES)
    line = lines(lambda: None)
    check_arrived(server, line, start_push(line, tmp_path, recording), recording)


def test_a_push_that_is_killed_goes_on_with_the_same_command(server: Server, lines: Callable[..., Line], tmp_path: Path) -> None:
    recording = crafted.Crafted(seed=6).padded(RECORDING_BYTES)
    killed: list[subprocess.Popen] = []
    is_there = threading.Event()

    def kill() -> None:
        is_there.wait()
        killed[0].kill()
        killed[0].wait()

    line = lines(kill)
    killed.append(start_push(line, tmp_path, recording))
    is_there.set()
    assert killed[0].communicate(timeout=120) == ("", "") and killed[0].returncode == -9
    check_arrived(server, line, start_push(line, tmp_path, recording), recording)
