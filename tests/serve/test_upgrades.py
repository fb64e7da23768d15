"""A data folder outlives versions: the first one's opens, and no chore changes tables below an older server. `check` finds what is damaged, and a
backup made while uploads run restores to what was acknowledged."""

import concurrent.futures
import contextlib
import shutil
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from client import Client
from crafted import Crafted
from recording import REPOSITORY
from served import Server
from uploads import Uploader, check_nothing_lost

GOLDEN_FOLDERS = REPOSITORY / "testdata/serve"
VERSIONS = sorted((path.name for path in GOLDEN_FOLDERS.glob("v*") if path.is_dir()), key=lambda name: int(name[1:]))
MIGRATIONS = REPOSITORY / "crates/server/migrations/sqlite"
CHORES = (["check"], ["backup", "copy"], ["prune", "--older", "30d"], ["token", "list"], ["token", "add", "new"], ["token", "revoke", "sam"])


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("version", VERSIONS or ["v1"])
def test_a_data_folder_of_every_version_opens(servers: Callable[..., Server], version: str) -> None:
    """What is in it: tests/serve/golden_folder.py, which made it."""
    kept = GOLDEN_FOLDERS / version
    assert kept.is_dir(), f"no {kept}: tests/serve/golden_folder.py {version}"
    before = files_of(kept)
    server = servers()
    shutil.copytree(kept / "data", server.data)
    server.start()
    tokens = dict(line.split() for line in (kept / "tokens.txt").read_text().splitlines())
    assert server.client(tokens["lena"]).get("/api/session").expect(200).json()["scopes"] == ["read", "write"]
    server.client(tokens["gone"]).get("/api/session").expect(401)
    client = server.client(tokens["sam"])
    listed = {one["name"]: one for one in client.recordings()}
    assert set(listed) == {"slices.genba", "app.genba", "open.genba"}
    assert client.content(listed["slices.genba"]["id"]) == (REPOSITORY / "testdata/golden/v3.genba").read_bytes()
    assert listed["app.genba"]["facts"]["samples"] == 300 and set(listed["app.genba"]["tags"]) >= {"main", "build=7"}
    # A live recording that nobody goes on with is sealed as it is, which may have happened by now.
    assert client.content(listed["open.genba"]["id"]) == Crafted(seed=7).recording()
    links = {one["code"]: one for one in client.get(f"/api/recordings/{listed['app.genba']['id']}/links").expect(200).json()["links"]}
    codes = (kept / "links.txt").read_text().split()
    assert set(codes) == set(links)
    assert sorted(server.client().get(f"/s/{code}").status in (200, 303) for code in codes) == [False, True]
    assert client.get("/api/settings").expect(200).json()["keep_days"] == 36500
    assert server.stop() == 0 and server.verb("check").returncode == 0
    with contextlib.closing(sqlite3.connect(server.data / "genba.sqlite")) as database:
        counted = database.execute("SELECT name, parts, (SELECT COUNT(*) FROM chunks WHERE recording = id) FROM recordings").fetchall()
    # The live one was uploaded in one part, in the first version before parts were counted in its row. Those that are sealed have none left.
    assert ("open.genba", 1, 1) in counted and sum(found for *_, found in counted) == 1, counted
    assert files_of(kept) == before


def tables_of(data: Path) -> list[str]:
    """As SQL, with all rows."""
    with contextlib.closing(sqlite3.connect(data / "genba.sqlite")) as database:
        return list(database.iterdump())


def test_each_layout_has_a_folder(tmp_path: Path) -> None:
    """Which is kept when the layout is new, and has its number."""
    layouts = [int(path.name[:4]) for path in sorted(MIGRATIONS.glob("*.sql"))]
    assert [f"v{layout}" for layout in layouts] == VERSIONS, f"python tests/serve/golden_folder.py v{layouts[-1]}"
    for layout in layouts:
        # A database that is opened where it is kept gets files beside it.
        copy = shutil.copytree(GOLDEN_FOLDERS / f"v{layout}/data", tmp_path / str(layout))
        with contextlib.closing(sqlite3.connect(copy / "genba.sqlite")) as database:
            assert database.execute("SELECT MAX(version) FROM _sqlx_migrations").fetchone() == (layout,)


def check_refused(server: Server, words: list[str], why: str) -> None:
    done = server.verb(*words)
    assert done.returncode == 1 and why in done.stderr and "hint: " in done.stderr, (words, done.stdout, done.stderr)


def test_no_chore_changes_the_tables_of_an_older_genba(servers: Callable[..., Server]) -> None:
    """Whose server may still run: only a server of this version brings them up to date."""
    server = servers()
    shutil.copytree(GOLDEN_FOLDERS / "v1/data", server.data)
    before = tables_of(server.data)
    for words in CHORES:
        check_refused(server, words, "is of an older genba")
    assert tables_of(server.data) == before and not (server.folder / "copy").exists()
    assert server.start().stop() == 0
    for words in CHORES:
        server.said(*words)


def test_data_of_a_newer_genba_is_left_alone(server: Server) -> None:
    assert server.stop() == 0
    with contextlib.closing(sqlite3.connect(server.data / "genba.sqlite")) as database, database:
        database.execute("INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'newer', 1, x'00', 0)")
    before = tables_of(server.data)
    for words in (["check"], ["--listen", "127.0.0.1:0"]):
        check_refused(server, words, "was made by a newer genba")
    assert tables_of(server.data) == before


def test_check_finds_one_changed_byte(server: Server, golden: bytes, honest: bytes) -> None:
    client = server.client()
    client.push(honest, "whole.genba")
    made = client.push(golden, "hurt.genba")
    fine = server.verb("check")
    assert fine.returncode == 0, fine.stderr
    [path] = [path for path in server.data.rglob("*") if path.is_file() and path.read_bytes() == golden]
    changed = bytearray(golden)
    changed[len(changed) // 2] ^= 1
    path.chmod(0o600)
    path.write_bytes(changed)
    found = server.verb("check")
    assert found.returncode == 1 and made["id"] in found.stdout + found.stderr and "whole.genba" not in found.stdout + found.stderr
    path.unlink()
    missing = server.verb("check")
    assert missing.returncode == 1 and made["id"] in missing.stdout + missing.stderr


def test_a_backup_while_uploads_run(server: Server, servers: Callable[..., Server], tmp_path: Path) -> None:
    stop = threading.Event()
    uploaders = [Uploader(server.client(), number, stop) for number in range(6)]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        running = [pool.submit(one.run) for one in uploaders]
        while sum(len(one.sealed) for one in uploaders) < 20:
            assert not any(one.done() and one.exception() for one in running)
        acknowledged = {recording_id: recording for one in uploaders for recording_id, recording in list(one.sealed.items())}
        done = server.verb("backup", str(tmp_path / "backup"))
        stop.set()
    for one in running:
        one.result()
    assert done.returncode == 0, done.stderr
    restored = servers("restored")
    shutil.rmtree(restored.data, ignore_errors=True)
    shutil.copytree(tmp_path / "backup", restored.data)
    assert restored.verb("check").returncode == 0
    client: Client = restored.start().client()
    listed = {one["id"]: one for one in client.recordings()}
    for recording_id, recording in acknowledged.items():
        assert listed[recording_id]["state"] == "sealed" and client.content(recording_id) == recording
    for one in listed.values():
        assert one["state"] == "open" or len(client.content(one["id"])) == one["bytes"]
    check_nothing_lost(server.client(), uploaders)
    # A backup never overwrites one.
    assert server.verb("backup", str(tmp_path / "backup")).returncode == 1


def test_a_backup_that_failed_is_not_served(server: Server, servers: Callable[..., Server], golden: bytes, honest: bytes, tmp_path: Path) -> None:
    """A second one into its folder is refused, too."""
    client = server.client()
    for recording in (golden, honest):
        client.push(recording)
    [path] = [path for path in server.data.rglob("*") if path.is_file() and path.read_bytes() == honest]
    path.unlink()
    folder = tmp_path / "backup"
    failed = server.verb("backup", str(folder))
    assert failed.returncode == 1 and folder.is_dir() and not (folder / "genba.sqlite").exists(), failed.stderr
    restored = servers("restored", places=["--data", str(folder)])
    for words in (["--listen", "127.0.0.1:0"], ["check"]):
        refused = restored.verb(*words)
        assert refused.returncode == 1 and "is not finished" in refused.stderr and "hint: " in refused.stderr, (words, refused.stderr)
    # The same bytes heal the source.
    client.push(honest)
    again = server.verb("backup", str(folder))
    assert again.returncode == 1 and "another backup into" in again.stderr and "hint: " in again.stderr, again.stderr
    server.said("backup", str(tmp_path / "other"))
    # One more of the same bytes.
    assert "3 recordings, 2 contents" in servers("other", places=["--data", str(tmp_path / "other")]).said("check")


def test_backups_at_once(server: Server, servers: Callable[..., Server], golden: bytes, honest: bytes, tmp_path: Path) -> None:
    """Into different folders all are whole; into one folder one is, and the other says why it is not."""
    client = server.client()
    for recording in (golden, honest):
        client.push(recording)
    folders = [tmp_path / name for name in ("same", "same", "one", "other")]
    with concurrent.futures.ThreadPoolExecutor(len(folders)) as pool:
        done = list(pool.map(lambda folder: server.verb("backup", str(folder)), folders))
    assert sorted(one.returncode for one in done[:2]) == [0, 1] and not any(one.returncode for one in done[2:]), done
    [refused] = [one.stderr for one in done[:2] if one.returncode]
    assert ("is not empty" in refused or "another backup into" in refused) and "hint: " in refused
    for folder in folders[1:]:
        assert "2 recordings" in servers(f"of-{folder.name}", places=["--data", str(folder)]).said("check")
    # None of them keeps the server from deleting any longer.
    client.ask("DELETE", f"/api/recordings/{client.recordings()[0]['id']}").expect(204)
    assert len([path for path in (server.data / "objects/content").rglob("*") if path.is_file()]) == 1
