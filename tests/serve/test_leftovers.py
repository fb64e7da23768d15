"""What a server clears each hour, the first time as it starts: old recordings, quiet and abandoned uploads, parts without a row, files of a killed server.
And contents that are deleted, or were lost, while the same bytes come again.

Owns: age, made by writing times back in the SQLite file and the folder of a stopped server. Never: waits.
"""

import concurrent.futures
import contextlib
import fcntl
import itertools
import os
import select
import signal
import socket
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from client import Client
from crafted import Crafted
from served import Server

MINUTE_MS, DAY_MS = 60_000, 86_400_000
HOUR_S = 3_600
DAY_S = 24 * HOUR_S


def age(server: Server, recording_id: str, age_ms: int) -> None:
    """As if the recording had been touched, and sealed, so long ago."""
    then_ms = time.time_ns() // 1_000_000 - age_ms
    with contextlib.closing(sqlite3.connect(server.data / "genba.sqlite")) as database, database:
        changed = database.execute(
            "UPDATE recordings SET touched_ms = ?, created_ms = ?, sealed_ms = CASE WHEN sealed_ms IS NULL THEN NULL ELSE ? END WHERE id = ?",
            (then_ms, then_ms, then_ms, recording_id),
        )
        assert changed.rowcount == 1


def age_file(path: Path, age_s: int) -> None:
    then_s = time.time() - age_s
    os.utime(path, (then_s, then_s))


def cleared(server: Server, until: Callable[[Client], bool]) -> Client:
    """Started again; what it clears at its start is cleared. One that never is makes the test hang, and pytest's limit ends it."""
    client = server.start().client()
    while not until(client):
        os.sched_yield()
    return client


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def is_stopped(pid: int) -> bool:
    """All its threads are: a signal stops each when it comes by."""
    states = [(task / "stat").read_text().rpartition(")")[2].split()[0] for task in Path(f"/proc/{pid}/task").iterdir()]
    return all(state in "TZX" for state in states)


def killed_while_it_writes(server: Server, scratch: Path) -> set[str]:
    """Its scratch files then: it is stopped as soon as there is one, and goes on if that was too late."""
    for seed in itertools.count():
        recording = Crafted(seed=seed).padded(20_000_000)
        head = f"POST /api/recordings?name=a.genba HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/octet-stream\r\nContent-Length: {len(recording)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(head.encode() + recording)
            while not files_below(scratch) and not select.select([connection], [], [], 0)[0]:
                os.sched_yield()
            server.process.send_signal(signal.SIGSTOP)
            while not is_stopped(server.process.pid):
                os.sched_yield()
            if left := files_below(scratch):
                server.kill()
                return left
            server.process.send_signal(signal.SIGCONT)
    raise AssertionError


def ids(client: Client) -> set[str]:
    return {one["id"] for one in client.recordings()}


def test_recordings_that_are_older_than_keep_are_deleted(servers: Callable[..., Server], honest: bytes, golden: bytes) -> None:
    server = servers()
    client = server.start().client()
    old, young = client.push(honest)["id"], client.push(golden)["id"]
    server.stop()
    age(server, old, 2 * DAY_MS)
    age(server, young, DAY_MS // 2)
    server.flags = ["--keep", "1d"]
    client = cleared(server, lambda client: ids(client) == {young})
    client.get(f"/api/recordings/{old}").expect(404)
    assert client.content(young) == golden
    # The setting stays in the database.
    server.stop()
    age(server, young, 2 * DAY_MS)
    server.flags = []
    # Its content goes behind its row.
    client = cleared(server, lambda client: not ids(client) and not files_below(server.data / "objects"))
    assert client.get("/api/settings").expect(200).json()["keep_days"] == 1
    assert server.stop() == 0 and server.verb("check").returncode == 0


def test_uploads_that_nobody_went_on_with_are_deleted(server: Server, honest: bytes, golden: bytes) -> None:
    client = server.client()
    left, going_on = client.begin(), client.begin()
    for recording_id in (left, going_on):
        client.append(recording_id, 0, honest).expect(204)
    server.stop()
    age(server, left, 7 * DAY_MS + MINUTE_MS)
    age(server, going_on, 7 * DAY_MS - HOUR_S * 1_000)
    client = cleared(server, lambda client: client.get(f"/api/recordings/{left}").status == 404)
    assert client.seal(going_on, honest).expect(200).json()["bytes"] == len(honest)
    assert server.stop() == 0 and len(files_below(server.data / "objects")) == 1


def test_a_quiet_live_recording_is_sealed_and_goes_on_when_its_program_comes_back(server: Server, honest: bytes, golden: bytes) -> None:
    client = server.client()
    quiet, busy = client.begin(live=True), client.begin(live=True)
    for recording_id in (quiet, busy):
        client.append(recording_id, 0, honest).expect(204)
    link = client.ask("POST", f"/api/recordings/{quiet}/links", {}).expect(201).json()
    server.stop()
    age(server, quiet, 16 * MINUTE_MS)
    age(server, busy, 5 * MINUTE_MS)
    shown = lambda client, recording_id: client.get(f"/api/recordings/{recording_id}").expect(200).json()
    client = cleared(server, lambda client: shown(client, quiet)["state"] == "sealed")
    assert shown(client, busy)["live"] and not shown(client, quiet)["live"] and client.content(quiet) == honest
    # The network is back: the same recording goes on where it was, under its links, and nothing of it is lost.
    head = client.ask("HEAD", f"/api/recordings/{quiet}/content").expect(200)
    assert (head.offset, head.headers["Upload-Complete"]) == (len(honest), "?1")
    assert client.append(quiet, 1, golden).expect(409).offset == len(honest)
    whole = honest + golden
    assert client.append(quiet, len(honest), golden).expect(204).offset == len(whole)
    opened = shown(client, quiet)
    assert (opened["state"], opened["live"], opened["sealed_ms"], opened["sha256"]) == ("open", True, None, None) and client.content(quiet) == whole
    assert client.seal(quiet, whole).expect(200).json()["bytes"] == len(whole)
    assert client.content(quiet) == whole and client.get(link["url"]).status == 303
    # Its own seal is for good.
    assert client.append(quiet, len(whole), golden).expect(409).offset == len(whole)
    # One content, and the part of the one that is live: the first seal's content goes within the hour, or as a server starts.
    server.stop()
    cleared(server, lambda _: len(files_below(server.data / "objects")) == 2)
    assert server.stop() == 0 and server.verb("check").returncode == 0


def test_a_quiet_recording_takes_nothing_after_its_program_or_a_week_has_sealed_it(server: Server, honest: bytes, golden: bytes) -> None:
    client = server.client()
    done, left, gone = (client.begin(f"{number}.genba", live=True) for number in range(3))
    for recording_id in (done, left, gone):
        client.append(recording_id, 0, honest).expect(204)
    server.stop()
    for recording_id in (done, left, gone):
        age(server, recording_id, 16 * MINUTE_MS)
    state = lambda client, recording_id: client.get(f"/api/recordings/{recording_id}").expect(200).json()["state"]
    client = cleared(server, lambda client: all(state(client, one) == "sealed" for one in (done, left, gone)))
    client.seal(done, honest).expect(200)
    client.append(done, len(honest), golden).expect(409)
    # Three recordings with one content: deleting one leaves the others whole, whatever was reopened in between.
    client.append(gone, len(honest), golden).expect(204)
    client.ask("DELETE", f"/api/recordings/{gone}").expect(204)
    server.stop()
    age(server, left, 8 * DAY_MS)
    client = cleared(server, lambda client: len(files_below(server.data / "objects")) == 1)
    client.append(left, len(honest), golden).expect(409)
    assert client.content(left) == client.content(done) == honest
    assert server.stop() == 0 and server.verb("check").returncode == 0


def test_parts_without_a_row_are_deleted(server: Server, honest: bytes) -> None:
    client = server.client()
    recording_id = client.begin()
    client.append(recording_id, 0, honest).expect(204)
    uploads = server.data / "objects/uploads"
    [known] = files_below(uploads)
    server.stop()
    orphans = [uploads / recording_id / name for name in ("orphan", "young")]
    for orphan in orphans:
        orphan.write_bytes(honest)
    for path in (orphans[0], uploads / known):
        age_file(path, 7 * HOUR_S)
    client = cleared(server, lambda _: not orphans[0].exists())
    assert files_below(uploads) == {known, f"{recording_id}/young"} and client.content(recording_id) == honest


def test_files_of_a_killed_server_are_removed_when_they_are_old(server: Server) -> None:
    scratch, objects = server.data / "scratch", server.data / "objects"
    left = killed_while_it_writes(server, scratch)
    assert all(name.startswith("genba-serve-") for name in left), left
    # As object_store leaves it; and one of an earlier version.
    staged = objects / "content/ab/abcd#1"
    staged.parent.mkdir(parents=True, exist_ok=True)
    earlier, young = scratch / ".tmpEarlier", scratch / "genba-serve-young"
    for path in (staged, earlier, young):
        path.write_bytes(b"half")
    old = [*(scratch / name for name in left), staged, earlier]
    for path in old:
        age_file(path, 7 * HOUR_S)
    # A move makes a folder, holds a lock in it, and may take days. One of an earlier version has no lock.
    earlier_killed, earlier_moving, killed, moving = (scratch / f"genba-serve-{name}" for name in ("Before", "Moving", "Killed", "Copies"))
    for folder, age_s in ((earlier_killed, 8 * DAY_S), (earlier_moving, 7 * HOUR_S), (killed, 0), (moving, 8 * DAY_S)):
        folder.mkdir()
        (folder / "genba.sqlite").write_bytes(b"half")
        if folder in (killed, moving):
            (folder / "held").touch()
        age_file(folder, age_s)
    with (moving / "held").open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        cleared(server, lambda _: not any(path.exists() for path in (*old, earlier_killed, killed)))
        kept = (f"{earlier_moving.name}/genba.sqlite", *(f"{moving.name}/{name}" for name in ("genba.sqlite", "held")))
        assert files_below(scratch) == {young.name, *kept}
    assert server.stop() == 0 and server.verb("check").returncode == 0


def test_contents_without_a_row_are_listed_by_check_and_deleted_by_prune(server: Server, golden: bytes, honest: bytes) -> None:
    client = server.client()
    made = client.push(golden)
    server.stop()
    orphans = [server.data / "objects/content" / name[:2] / name for name in ("ab" * 32, "cd" * 32)]
    for orphan in orphans:
        orphan.parent.mkdir(parents=True, exist_ok=True)
        orphan.write_bytes(honest)
    old, young = orphans
    for path in (old, *(server.data / "objects/content").glob(f"*/{made['sha256']}")):
        age_file(path, 25 * HOUR_S)
    checked = server.verb("check")
    assert checked.returncode == 0 and "1 content that no recording uses" in checked.stderr and "genba serve prune" in checked.stderr, checked
    # No server does it by itself: one with an older database would find all that is younger. Parts are what it clears last.
    part = server.data / "objects/uploads/none/part"
    part.parent.mkdir(parents=True, exist_ok=True)
    part.write_bytes(honest)
    age_file(part, 7 * HOUR_S)
    cleared(server, lambda _: not part.exists())
    assert old.exists()
    pruned = server.verb("prune", "--older", "30d")
    assert pruned.returncode == 0 and "deleted 0 recordings and 1 content that no recording uses" in pruned.stderr, pruned
    assert not old.exists() and young.exists() and client.content(made["id"]) == golden
    assert "no recording uses" not in server.verb("check").stderr
    # A database that knows none is another server's.
    server.said("prune", "--older", "0s")
    age_file(young, 25 * HOUR_S)
    server.said("prune", "--older", "0s")
    assert young.exists()


def test_prune_deletes_nothing_in_a_store_of_which_the_database_knows_nothing(server: Server, golden: bytes, honest: bytes) -> None:
    made = server.client().push(golden)
    server.stop()
    own, other = content_file(server, made), server.data / "objects/content/ab" / ("ab" * 32)
    own.unlink()
    other.parent.mkdir(parents=True, exist_ok=True)
    other.write_bytes(honest)
    age_file(other, 25 * HOUR_S)
    assert "no recording uses" not in server.verb("check").stderr
    server.said("prune", "--older", "30d")
    assert other.exists()
    own.write_bytes(golden)
    server.said("prune", "--older", "30d")
    assert own.exists() and not other.exists()


def content_file(server: Server, made: dict) -> Path:
    return server.data / "objects/content" / made["sha256"][:2] / made["sha256"]


@pytest.mark.parametrize("left", [None, b"half"], ids=["gone", "cut"])
def test_the_same_bytes_heal_a_content_that_the_store_has_lost(server: Server, golden: bytes, left: bytes | None) -> None:
    client = server.client()
    made = client.push(golden)
    path = content_file(server, made)
    path.unlink()
    if left is not None:
        path.write_bytes(left)
    assert server.verb("check").returncode == 1
    view = f"/api/recordings/{made['id']}/tree"
    for asked in (view, f"/api/recordings/{made['id']}/content"):
        assert "lost or cut" in client.get(asked).expect(500).json()["title"]
    again = client.push(golden)
    client.get(view).expect(200)
    assert client.content(made["id"]) == client.content(again["id"]) == golden
    for one in (made, again):
        assert server.verb("check").returncode == 0
        client.ask("DELETE", f"/api/recordings/{one['id']}").expect(204)
    assert files_below(server.data / "objects") == set()


def doom(server: Server, age_ms: int) -> None:
    """As a server does that deletes the one content, and then is killed. A negative age: no clock comes by it while the test runs."""
    doomed_ms = time.time_ns() // 1_000_000 - age_ms
    with contextlib.closing(sqlite3.connect(server.data / "genba.sqlite")) as database, database:
        database.execute("DELETE FROM recordings")
        assert database.execute("UPDATE contents SET uses = 0, doomed = ?", (doomed_ms,)).rowcount == 1


@pytest.mark.parametrize("is_left", [True, False], ids=["there", "deleted"])
def test_the_same_bytes_are_not_taken_while_the_store_may_still_delete_them(server: Server, golden: bytes, is_left: bool) -> None:
    client = server.client()
    made = client.push(golden)
    server.stop()
    doom(server, -HOUR_S * 1_000)
    if not is_left:
        content_file(server, made).unlink()
    client = server.start().client()
    refused = client.ask("POST", "/api/recordings?name=app.genba", golden).expect(503)
    assert "is deleting the same content" in refused.json()["title"] and int(refused.headers["Retry-After"]) > 0
    assert not client.recordings() and content_file(server, made).exists() == is_left
    server.stop()
    doom(server, 3 * MINUTE_MS)
    client = server.start().client()
    assert client.content(client.push(golden)["id"]) == golden


@pytest.mark.parametrize("is_left", [True, False], ids=["there", "deleted"])
def test_the_same_bytes_are_taken_when_a_killed_server_was_deleting_them(server: Server, golden: bytes, is_left: bool) -> None:
    """It had doomed the content, and its object may be deleted already."""
    client = server.client()
    made = client.push(golden)
    server.stop()
    doom(server, 5 * MINUTE_MS)
    if not is_left:
        content_file(server, made).unlink()
    client = server.start().client()
    again = client.push(golden)
    assert client.content(again["id"]) == golden and server.verb("check").returncode == 0
    client.ask("DELETE", f"/api/recordings/{again['id']}").expect(204)
    assert files_below(server.data / "objects") == set()


def test_the_same_bytes_are_uploaded_and_deleted_at_once(server: Server, honest: bytes) -> None:
    """What was acknowledged is there until it is deleted, whoever deletes its twins."""
    client = server.client()

    def rounds(_: int) -> None:
        for _ in range(25):
            made = client.push(honest)
            assert client.content(made["id"]) == honest
            client.ask("DELETE", f"/api/recordings/{made['id']}").expect(204)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(rounds, range(8))) == [None] * 8
    assert server.stop() == 0 and server.verb("check").returncode == 0
    cleared(server, lambda _: files_below(server.data / "objects") == set())
