"""Strangers at the door: connections that never ask, and requests that nobody waits for. The owner's next page is answered, and nothing is done for nobody.
And friends who upload more at once than there is memory for.

Owns: the crowds. Never: measures (benches/goals/crowd.py does).
"""

import concurrent.futures
import contextlib
import resource
import select
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from client import PROBLEM
from leases import held
from recording import binary
from served import Server, Team, environment
from visitors import Openings, sockets, until

# Descriptors of the server; it keeps connections for half of them.
DESCRIPTORS = 256
SILENT = 300
ABANDONED = 200
# One that is in memory (crates/server/src/keeping/uploading.rs), and how many of all uploads and of one token's (crates/server/src/rules/room.rs).
PART_BYTES = 4 << 20
PARTS, PARTS_OF_TOKEN = 96, 64
# More than a stream of events lasts (crates/server/src/routes/events.rs), and then a connection that asks for nothing more.
FOLLOWED_SECONDS_MAX = 500
# Of the answers that one token's readers have not taken yet, and more of an answer than the kernel takes before its reader does.
ANSWERS_BYTES, ANSWER_BYTES = 256 << 20, 8 << 20


def test_more_silent_connections_than_the_server_keeps(servers: Callable[..., Server], honest: bytes, golden: bytes) -> None:
    server = servers()
    team = Team.of(server)
    server.before = ["sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh"]
    server.start()
    live = team.lena.begin("live.genba", live=True)
    team.lena.append(live, 0, honest).expect(204)
    events = team.lena.events(live)
    assert next(events)[0] == "grown"
    others = sockets(server.process.pid)
    with contextlib.ExitStack() as silent:
        for number in range(SILENT):
            stranger = silent.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            stranger.sendall([b"", b"GET / HTTP/1.1\r\nHo", b"GET /login HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"][number % 3])
        made = team.lena.push(golden)
        assert team.lena.get(made["url"]).expect(200).kind == "text/html"
        team.nobody.get("/health").expect(200)
        assert sockets(server.process.pid) <= others + DESCRIPTORS // 2
        # Whoever is known and waits for an answer was not closed.
        team.lena.append(live, len(honest), golden).expect(204)
        assert any(name == "grown" and told["bytes"] == len(honest) + len(golden) for name, told in events)
    assert server.errors.count(f"{DESCRIPTORS // 2} connections are open, the most that genba keeps") == 1, server.errors
    assert server.stop() == 0


def test_the_server_takes_as_many_descriptors_as_it_may(servers: Callable[..., Server]) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    server = servers(before=["sh", "-c", 'ulimit -Sn 64; exec "$@"', "sh"]).start()
    assert resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE) == (hard, hard)


def test_nothing_is_done_for_requests_that_nobody_waits_for(server: Server) -> None:
    client = server.client()
    tree = lambda made, share: f"/api/recordings/{made['id']}/tree?min_share={share}"
    asked = lambda path: f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    stacks = [f"main;request_{number};step 3\n".encode() for number in range(3)]
    slow, other, wanted = (client.push(recording, f"{number}.txt") for number, recording in enumerate(stacks))
    files = {made["sha256"]: path for path in (server.data / "objects/content").rglob("*") for made in (slow, other, wanted) if path.name == made["sha256"]}
    connect = lambda: socket.create_connection(("127.0.0.1", server.port), timeout=60)
    openings = Openings([files[wanted["sha256"]]])
    client.get(tree(wanted, 1)).expect(200)
    of_one_page = len(openings.so_far())
    assert of_one_page > 0
    with held(files[slow["sha256"]], files[other["sha256"]]) as until_in_demand, contextlib.ExitStack() as waiting:
        # Both of the server's readers wait for their file, and every other question waits for its turn.
        readers = [waiting.enter_context(connect()) for _ in range(2)]
        for reader, made in zip(readers, (slow, other), strict=True):
            reader.sendall(asked(tree(made, 1)))
        until_in_demand()
        before = sockets(server.process.pid)
        # Each is another question: none is answered from memory.
        for number in range(ABANDONED):
            with connect() as stranger:
                stranger.sendall(asked(tree(wanted, f"2.{number}")))
        until(lambda: sockets(server.process.pid) <= before)
    client.get(tree(wanted, 3)).expect(200)
    assert len(openings.so_far()) == of_one_page


def test_an_upload_waits_for_no_reader(server: Server) -> None:
    client = server.client()
    slow = [client.push(f"main;request_{number};step 3\n".encode(), f"{number}.txt") for number in range(2)]
    files = {path.name: path for path in (server.data / "objects/content").rglob("*")}
    with held(*(files[made["sha256"]] for made in slow)) as until_in_demand, contextlib.ExitStack() as waiting:
        readers = [waiting.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60)) for _ in slow]
        for reader, made in zip(readers, slow, strict=True):
            reader.sendall(f"GET /api/recordings/{made['id']}/tree HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        until_in_demand()
        assert client.push(b"main;request_2;step 3\n", "2.txt")["state"] == "sealed"
        # Both of them still wait for their file.
        assert select.select(readers, [], [], 0)[0] == []


def begun_part(team: Team, name: str, recording_id: str) -> tuple[socket.socket, bytes]:
    """A part of an upload whose bytes wait for the server's word, and the word. They never come."""
    head = f"PATCH /api/recordings/{recording_id}/content HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {team.tokens[name]}\r\n"
    part = socket.create_connection(("127.0.0.1", team.server.port), timeout=60)
    part.sendall(f"{head}Upload-Offset: 0\r\nContent-Length: {PART_BYTES}\r\nExpect: 100-continue\r\n\r\n".encode())
    return part, part.recv(1024)


def part_in_memory(team: Team, name: str, recording_id: str) -> socket.socket:
    """One that has its room: the server asks for its bytes then, and not before."""
    part, word = begun_part(team, name, recording_id)
    assert word.startswith(b"HTTP/1.1 100 "), word
    return part


def test_an_upload_that_falls_silent_gives_its_room_back(team: Team, golden: bytes) -> None:
    """The server says so after some seconds, and takes others meanwhile."""
    recording_id = team.lena.begin()
    with part_in_memory(team, "lena", recording_id) as silent:
        silent.sendall(golden[:100])
        assert team.sam.push(golden)["state"] == "sealed"
        answer = silent.recv(4096)
    assert answer.startswith(b"HTTP/1.1 408 ") and PROBLEM.encode() in answer, answer
    assert team.lena.append(recording_id, 0, golden).expect(204).offset == len(golden)


def test_uploads_have_a_bounded_room_in_memory(team: Team, golden: bytes, tmp_path: Path) -> None:
    (tmp_path / "app.genba").write_bytes(golden)
    command = [str(binary()), "push", "app.genba", f"http://127.0.0.1:{team.server.port}"]
    variables = environment({"GENBA_TOKEN": team.tokens["lena"], "XDG_CACHE_HOME": str(tmp_path / "cache")})
    of_lena, of_sam, of_pusher = (team.client(name).begin() for name in ("lena", "sam", "pusher"))
    with contextlib.ExitStack() as parts:
        for _ in range(PARTS_OF_TOKEN):
            parts.enter_context(part_in_memory(team, "lena", of_lena))
        push = subprocess.Popen(command, cwd=tmp_path, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # One token leaves room for the others, who leave none.
        assert team.sam.push(golden)["state"] == "sealed"
        for _ in range(PARTS - PARTS_OF_TOKEN):
            parts.enter_context(part_in_memory(team, "sam", of_sam))
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            unasked = pool.submit(begun_part, team, "lena", of_lena)
            refused = [pool.submit(client.append, one, 0, golden) for client, one in ((team.lena, of_lena), (team.pusher, of_pusher))]
        for answer, status in zip((one.result() for one in refused), (429, 503), strict=True):
            assert answer.expect(status).kind == PROBLEM and int(answer.headers["Retry-After"]) > 0
        part, word = unasked.result()
        part.close()
        assert word.startswith(b"HTTP/1.1 429 "), "it sends nothing in vain"
        # Who reads is not kept waiting, and `genba push` waits by itself.
        assert team.lena.recordings() and push.poll() is None, push.communicate()
    said, errors = push.communicate(timeout=60)
    assert push.returncode == 0 and said.startswith(f"http://127.0.0.1:{team.server.port}/r/"), errors
    assert team.pusher.append(of_pusher, 0, golden).expect(204).offset == len(golden)


@contextlib.contextmanager
def stalled_readers(team: Team) -> Iterator[tuple[str, list[socket.socket]]]:
    """The path of a long answer, and as many readers of lena's as there is room for: they ask for it and take nothing."""
    # Ten names of almost 1 MiB each, the most that a frame may have.
    stack = ";".join(f"f{number}_{'x' * 1_000_000}" for number in range(10))
    tree = f"/api/recordings/{team.lena.push(f'{stack} 3'.encode(), 'long.txt')['id']}/tree"
    length = len(team.lena.get(tree).expect(200).body)
    assert length > ANSWER_BYTES
    asked = f"GET {tree} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {team.tokens['lena']}\r\n\r\n".encode()
    with contextlib.ExitStack() as waiting:
        readers = []
        for _ in range(ANSWERS_BYTES // length):
            reader = waiting.enter_context(socket.create_connection(("127.0.0.1", team.server.port), timeout=60))
            reader.sendall(asked)
            assert reader.recv(12) == b"HTTP/1.1 200"
            readers.append(reader)
        yield tree, readers


def test_answers_have_a_bounded_room_in_memory(team: Team, golden: bytes) -> None:
    """For readers who ask and take nothing. They keep short answers from nobody, and long ones only from their own token."""
    team.lena.push(golden)
    with stalled_readers(team) as (tree, _):
        refused = team.lena.get(tree).expect(503)
        assert refused.kind == PROBLEM and int(refused.headers["Retry-After"]) > 0
        assert team.sam.get(tree).expect(200).body and team.lena.recordings()
    until(lambda: team.lena.get(tree).status == 200)


def take_one_byte(readers: list[socket.socket]) -> None:
    for reader in readers:
        # Once the server has closed the connection.
        with contextlib.suppress(ConnectionResetError):
            reader.recv(1)


@pytest.mark.measures
def test_readers_who_take_nothing_give_their_room_back(team: Team) -> None:
    """After a minute and a half, as those of a link do, who share one room. So do readers who take one byte after the other."""
    pid = team.server.process.pid
    before = sockets(pid)
    with stalled_readers(team) as (tree, readers):
        team.lena.get(tree).expect(503)
        until(lambda: take_one_byte(readers[::2]) or team.lena.get(tree).status == 200)
        # The server has closed the connections of all of them.
        until(lambda: take_one_byte(readers[::2]) or sockets(pid) <= before)


@pytest.mark.measures
def test_a_follower_who_takes_nothing_is_let_go(team: Team, honest: bytes) -> None:
    """Of a live recording that is quiet, too: what the kernel keeps for such a reader is not full for hours."""
    live = team.lena.begin("live.genba", live=True)
    team.lena.append(live, 0, honest).expect(204)
    with socket.create_connection(("127.0.0.1", team.server.port), timeout=60) as follower:
        head = f"GET /api/recordings/{live}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {team.tokens['lena']}\r\n\r\n"
        follower.sendall(head.encode())
        assert follower.recv(12) == b"HTTP/1.1 200"
        closed = select.poll()
        closed.register(follower, select.POLLRDHUP)
        assert closed.poll(FOLLOWED_SECONDS_MAX * 1_000), "it is still connected"
    # Who asks again is told where the recording is now.
    assert next(team.lena.events(live))[1]["bytes"] == len(honest)
