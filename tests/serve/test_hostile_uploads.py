"""A recording from the network is hostile until proved otherwise: garbage, bombs, names with script, places that lead elsewhere, too much of anything."""

import concurrent.futures
import contextlib
import hashlib
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import crafted
from client import PROBLEM, Client, in_path
from served import Server, Team

HOSTILE = crafted.hostile()
GOOD = 10
# Readers say no to these.
NO_RECORDING = {"garbage", "nothing", "a gzip that becomes 100 MB"}
# Of these they show nothing, and say why; the others are recordings, if strange ones.
DAMAGED = {"magic alone", "cut in the middle", "of a later version", "a huge zstd window"}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_recording_disturbs_nobody(module_team: Team, name: str) -> None:
    """While ten good uploads run; the server lives, the good ones are whole, and the bad one is refused in words or is read within limits."""
    client, hostile = module_team.lena, HOSTILE[name]()
    good = [crafted.unique(hash(name) % 1000 * 100 + number) for number in range(GOOD)]
    with concurrent.futures.ThreadPoolExecutor(GOOD + 1) as pool:
        bad = pool.submit(client.ask, "POST", "/api/recordings", hostile, query={"name": "bad.genba"})
        made = list(pool.map(client.push, good))
    answer = bad.result()
    assert [client.content(one["id"]) for one in made] == good
    assert all(one["facts"]["verdict"]["kind"] for one in made)
    if name in NO_RECORDING:
        assert answer.status in (400, 422), answer.body[:300]
    if answer.status != 201:
        assert answer.status in (400, 413, 422) and answer.kind == PROBLEM
        assert not any(one["name"] == "bad.genba" for one in client.recordings(q="since:1h"))
        return
    taken = answer.json()
    if name in DAMAGED:
        assert taken["facts"]["faults"] and taken["facts"]["samples"] == 0
    assert len(answer.body) < 100_000, "facts have a limit of their own"
    for view in ("tree", "rows", "memory", "content", "links"):
        client.get(f"/api/recordings/{taken['id']}/{view}").expect(200, 413, 422, 503)
    client.get(taken["url"]).expect(200, 413, 422, 503)
    assert any(one["id"] == taken["id"] for one in client.recordings())
    client.ask("DELETE", f"/api/recordings/{taken['id']}").expect(204)
    assert module_team.server.process.poll() is None


def test_script_in_names_stays_text(team: Team) -> None:
    """Nothing that a recording, a name, a tag or a host says ends a script or an attribute of a page."""
    recording = crafted.scripted().recording()
    evil = (crafted.SCRIPT, crafted.BROKEN_OUT)
    made = team.lena.push(recording, "x" + crafted.SCRIPT.replace("/", "") + ".genba", tags=evil, host=crafted.BROKEN_OUT)
    code = team.lena.ask("POST", f"/api/recordings/{made['id']}/links", {"expires_ms": None, "needs_token": False, "fragment": "#view=x"}).expect(201).json()["code"]
    other = team.lena.push(crafted.Crafted().recording())
    for path in (made["url"], f"/compare/{made['id']}/{other['id']}", f"/s/{code}"):
        page = team.lena.get(path).expect(200, 303)
        if page.status == 303:
            page = team.lena.get(page.headers["Location"].partition("#")[0]).expect(200)
        text = page.body.decode()
        assert crafted.SCRIPT not in text and "<img src=x" not in text, path
        assert "\u2028" not in text, path
    for path in ("/api/recordings", f"/api/recordings/{made['id']}", f"/api/recordings/{made['id']}/rows"):
        answer = team.lena.get(path).expect(200)
        assert answer.kind == "application/json" and answer.headers["X-Content-Type-Options"] == "nosniff"
        # Whoever asks with curl has it on a terminal; JSON still says the name.
        assert "\u2028" not in answer.body.decode(), path
    # What a person typed into the address is not echoed as HTML.
    for path in (f"/r/{in_path(crafted.SCRIPT)}", f"/s/{in_path(crafted.SCRIPT)}", f"/{in_path(crafted.SCRIPT)}"):
        assert crafted.SCRIPT.encode() not in team.lena.get(path).expect(404).body


TRAVERSALS = ["..", ".", "../..", "..%2f..%2f..%2fetc%2fpasswd", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..\\..", "....//....//etc/passwd", "%00", "a%00b", "/etc/passwd", "%2fetc%2fpasswd", "CON", "~", "*", "'", '"; DROP TABLE recordings; --', "%", "%zz", "\u202e", "x" * 4000]


def raw(server: Server, request: bytes) -> int:
    """Bytes as they are: a client would tidy the path."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as one:
        one.sendall(request)
        one.settimeout(60)
        answer = one.recv(65536)
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/") else 0


@pytest.mark.parametrize("text", TRAVERSALS, ids=range(len(TRAVERSALS)))
def test_an_id_leads_nowhere_else(module_team: Team, text: str) -> None:
    server, admin = module_team.server, module_team.admin
    routes = ["/api/recordings/{}", "/api/recordings/{}/content", "/api/recordings/{}/tree", "/api/recordings/{}/rows", "/api/recordings/{}/memory", "/api/recordings/{}/events", "/api/recordings/{}/links", "/api/recordings/{}/difference/{}", "/r/{}", "/compare/{}/{}", "/s/{}", "/s/{}/recording"]
    for route in routes:
        path = route.replace("{}", in_path(text) if "%" not in text else text)
        if text in ("..", ".", "../.."):
            # Sent unquoted, too: to the server these are other paths, if any.
            request = f"GET {route.replace('{}', text)} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {admin.token}\r\nConnection: close\r\n\r\n"
            assert raw(server, request.encode()) in (200, 303, 400, 404, 405)
        answer = admin.get(path)
        assert answer.status in (400, 404, 414), f"{path}: {answer.status}"
        assert b"root:" not in answer.body
    for method, route, body in (("DELETE", "/api/tokens/{}", None), ("POST", "/api/tokens/{}/rotate", None), ("DELETE", "/api/links/{}", None)):
        assert admin.ask(method, route.replace("{}", in_path(text) if "%" not in text else text), body).status in (400, 404, 414)


def test_a_name_is_no_place(team: Team, honest: bytes) -> None:
    before = {path for path in team.server.folder.rglob("*")}
    for name in ("../../evil.genba", "/etc/evil.genba", "..\\evil.genba", "a\0b", "a\nb", "", "n" * 256):
        team.lena.ask("POST", "/api/recordings", honest, query={"name": name}).expect(400)
        team.lena.ask("POST", "/api/recordings", {"name": name}).expect(400)
    made = team.lena.push(honest, "..", tags=("t" * 200,), host="h" * 255)
    assert team.lena.content(made["id"]) == honest
    team.lena.push(honest, "ü" * 255)
    route = f"/api/recordings/{made['id']}"
    for change in ({"name": "a/b"}, {"name": 7}, {"tags": "a"}, {"tags": ["t" * 201]}, {"tags": ["t"] * 33}, {"tags": ["a\x1b[2J"]}, {"owner": "sam"}, {"state": "open"}, [], "x", None):
        team.lena.ask("PATCH", route, change if change is not None else b"null", kind="application/json").expect(400)
    outside = [path for path in team.server.folder.rglob("*") if path not in before and not path.is_relative_to(team.server.data)]
    assert outside == [] and not any("evil" in path.name for path in team.server.folder.rglob("*"))


def test_too_much_is_refused_before_it_is_read(servers, honest: bytes) -> None:
    server = servers(flags=["--max-recording", "1MB"]).start()
    client = server.client()
    assert client.get("/api").json()["limits"]["recording_bytes_max"] in (1_000_000, 1 << 20)
    big = crafted.Crafted().padded(2_000_000)
    assert client.ask("POST", "/api/recordings", big).expect(413).kind == PROBLEM
    recording_id = client.begin()
    at, status = 0, 204
    while status == 204:
        answer = client.append(recording_id, at, big[at : at + 300_000])
        status = answer.status
        at += 300_000
    assert status == 413 and at <= 1_500_000 and client.offset(recording_id) <= 1 << 20
    # Only the length is sent.
    head = "POST /api/recordings HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\n\r\n"
    assert raw(server, head.format(10**15).encode()) == 413
    assert raw(server, head.format(-1).encode()) == 400
    assert raw(server, b"GET /api HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: " + b"y" * 1_000_000 + b"\r\n\r\n") in (0, 400, 431)
    assert client.push(honest)["state"] == "sealed"


def test_too_large_a_piece(team: Team) -> None:
    most = team.lena.get("/api").json()["limits"]["chunk_bytes_max"]
    recording_id = team.lena.begin()
    assert team.lena.append(recording_id, 0, bytes(most + 1)).expect(413).kind == PROBLEM
    assert team.lena.offset(recording_id) == 0
    assert team.lena.append(recording_id, 0, bytes(most)).expect(204).offset == most
    for wrong in ("-1", "x", "1.5", "", str(2**70), "0x10", "1 2"):
        answer = team.lena.ask("PATCH", f"/api/recordings/{recording_id}/content", b"x", headers={"Upload-Offset": wrong})
        assert answer.status == 400, (wrong, answer.status)
    team.lena.ask("PATCH", f"/api/recordings/{recording_id}/content", b"x").expect(400)


# Of any size, and the smallest that counts for itself (crates/server/src/keeping/uploading.rs).
SMALL_PARTS, SMALL_BYTES = 1_000, 1 << 16


def test_parts_of_a_byte_have_a_bound(team: Team) -> None:
    """Each is a file and a row, and counted; as a count alone there are soon as many. Half of them are for the seconds that the test may take."""
    recording_id = team.lena.begin()
    with contextlib.closing(sqlite3.connect(team.server.data / "genba.sqlite")) as database, database:
        database.execute("UPDATE recordings SET parts = ? WHERE id = ?", (2 * SMALL_PARTS, recording_id))
    # One a second is taken all the same: on a slow machine the first ones may be.
    answers = (team.lena.append(recording_id, at, b"x").expect(204, 429) for at in range(100))
    at, refused = next((at, answer) for at, answer in enumerate(answers) if answer.status == 429)
    assert refused.kind == PROBLEM and int(refused.headers["Retry-After"]) > 0 and refused.json()["hint"]
    assert team.lena.append(recording_id, at, bytes(SMALL_BYTES)).expect(204).offset == at + SMALL_BYTES
    assert team.lena.append(team.lena.begin(), 0, b"x").expect(204).offset == 1


def test_a_token_fills_no_list(servers: Callable[..., Server], honest: bytes) -> None:
    server = servers(flags=["--recordings-per-token", "2"])
    team = Team.of(server)
    server.start()
    lena = team.lena
    whole, _live = lena.push(honest), lena.begin(live=True)
    for body in (honest, {"name": "app.genba", "live": True}):
        refused = lena.ask("POST", "/api/recordings", body).expect(403)
        assert refused.kind == PROBLEM and "--recordings-per-token" in refused.json()["hint"]
    assert len(lena.recordings()) == 2 and team.sam.push(honest)["state"] == "sealed"
    lena.ask("DELETE", f"/api/recordings/{whole['id']}").expect(204)
    assert lena.push(honest)["state"] == "sealed"


def test_bodies_that_are_too_long_for_json(team: Team) -> None:
    for path in ("/api/recordings", "/api/session"):
        team.lena.ask("POST", path, b'{"name": "' + b"x" * 3_000_000 + b'"}', kind="application/json").expect(400, 413)
    team.lena.ask("POST", "/api/recordings", b"[" * 60_000, kind="application/json").expect(400)
    # Strangers may log in, and less of what they say is kept.
    for length, status in ((4 << 10, 400), ((4 << 10) + 1, 413)):
        assert team.nobody.ask("POST", "/api/session", b"[" * length, kind="application/json").expect(status).kind == PROBLEM


def test_a_bomb_of_compression_is_not_unpacked(team: Team, honest: bytes) -> None:
    """A body that says it is compressed is taken as it is, or refused; never unpacked in memory."""
    answer = team.lena.ask("POST", "/api/recordings", honest, headers={"Content-Encoding": "gzip"})
    assert answer.status in (201, 400, 415, 422)
    if answer.status == 201:
        assert hashlib.sha256(team.lena.content(answer.json()["id"])).hexdigest() == hashlib.sha256(honest).hexdigest()


UPLOADS = 8
MIB = 1 << 20
# Of one upload: first the piece that comes in (crates/server/src/keeping/uploading.rs), then the content in parts, one that is written or sent
# beside another one or the next one that is read (crates/server/src/storage/store.rs), and what tokio reads of a file at once.
PIECE_BYTES, PART_BYTES, PARTS, READ_BYTES = 4 * MIB, 8 * MIB, 2, 2 * MIB
# The piece may still be there when the parts come.
KEPT_BYTES = PIECE_BYTES + PARTS * PART_BYTES + READ_BYTES


def memory_bytes(server: Server, field: str) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(f"{field}:"))


def test_large_uploads_do_not_fill_the_memory(team: Team) -> None:
    client: Client = team.lena
    # No two are the same: a content that is there already is not put again.
    first, *others = [crafted.Crafted().padded((32 + number) * MIB) for number in range(1 + UPLOADS)]
    client.push(first)
    before = memory_bytes(team.server, "VmRSS")
    with concurrent.futures.ThreadPoolExecutor(UPLOADS) as pool:
        made = list(pool.map(client.push, others))
    assert len({one["id"] for one in made}) == UPLOADS
    # At its most: what was freed may be back at the system by now.
    assert memory_bytes(team.server, "VmHWM") - before < UPLOADS * KEPT_BYTES < sum(map(len, others)) / 1.5
