"""Two servers with one PostgreSQL and one S3 store: neither has state of its own, so each goes on with what the other began."""

import concurrent.futures
import contextlib
import hashlib
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import crafted
import longlist
from engines import S3, Postgres
from ports import free_port
from recording import binary
from served import Server, environment
from uploads import Uploader, check_nothing_lost
from visitors import until

# `make soak` and `make test-all` run them: PostgreSQL and the S3 store are too much for each `make test`.
pytestmark = pytest.mark.measures
Pair = tuple[Server, Server]
# The store takes more than 8 MiB in several parts.
LARGE_BYTES, PIECE_BYTES = 20_000_000, 4_000_000
# So many that a wait for the delete of each would be longer than the client's.
PARTS, PART_BYTES = 30, 10
# Of one server, to the database.
CONNECTIONS = 8


def test_an_upload_begun_at_one_ends_at_the_other(pair: Pair, golden: bytes) -> None:
    one, other = (server.client() for server in pair)
    recording_id = one.begin("both.genba", tags=["main"])
    one.append(recording_id, 0, golden[:600]).expect(204)
    assert other.offset(recording_id) == 600
    other.append(recording_id, 600, golden[600:1200]).expect(204)
    one.append(recording_id, 600, golden[600:]).expect(409)
    one.append(recording_id, 1200, golden[1200:]).expect(204)
    sealed = other.seal(recording_id, golden).expect(200).json()
    assert one.get(f"/api/recordings/{recording_id}").expect(200).json() == sealed
    assert one.content(recording_id) == other.content(recording_id) == golden
    settings = one.get("/api/settings").expect(200).json()
    assert (settings["database"], settings["store"]) == ("postgres", "s3")


def test_large_recordings_come_back_as_they_were(pair: Pair) -> None:
    clients = [server.client() for server in pair]
    whole, pieces = (crafted.Crafted(seed=seed).padded(LARGE_BYTES) for seed in (1, 2))
    made = [(clients[0].push(whole), whole), (clients[1].push_in_pieces(pieces, PIECE_BYTES), pieces)]
    for one, recording in made:
        assert (one["state"], one["bytes"], one["sha256"]) == ("sealed", len(recording), hashlib.sha256(recording).hexdigest())
        for client in clients:
            assert client.content(one["id"]) == recording
            assert client.get(f"/api/recordings/{one['id']}/tree").expect(200).json()["samples"] == 300
    assert "2 contents" in pair[0].said("check") and pair[1].verb("check").returncode == 0


def test_a_search_looks_at_a_part_of_a_long_list_at_a_time(pair: Pair, postgres: Postgres) -> None:
    for statement in longlist.STATEMENTS:
        postgres.run(pair[0].places[1].rpartition("/")[2], statement)
    longlist.check_parts(pair[1].client())


def test_no_chore_changes_the_tables_of_older_servers(servers: Callable[..., Server], postgres: Postgres, s3: S3) -> None:
    """As in a folder (test_upgrades.py)."""
    server = servers(places=["--db", postgres.database("older"), "--store", s3.bucket("older")], secrets=s3.secrets)
    # One that is empty is nobody's.
    server.add_token("sam", "admin")
    layouts = postgres.run("older", "SELECT version FROM _sqlx_migrations ORDER BY version").split()
    postgres.run("older", f"DELETE FROM _sqlx_migrations WHERE version = {layouts[-1]}")
    for words in (["check"], ["prune", "--older", "30d"], ["token", "list"]):
        refused = server.verb(*words)
        assert refused.returncode == 1 and "is of an older genba" in refused.stderr and "hint: " in refused.stderr, (words, refused.stderr)
    assert postgres.run("older", "SELECT version FROM _sqlx_migrations ORDER BY version").split() == layouts[:-1]


def test_a_variable_names_the_database(pair: Pair, servers: Callable[..., Server], golden: bytes) -> None:
    """Another server that gets it this way is one more of them; a command line goes before the variable."""
    made = pair[0].client().push(golden)
    [(_, address), (_, store)] = zip(pair[0].places[::2], pair[0].places[1::2], strict=True)
    third = servers("third", places=["--store", store], secrets={**pair[0].secrets, "GENBA_SERVE_DB": address})
    client = third.start().client()
    assert client.recordings() == pair[1].client().recordings() and client.content(made["id"]) == golden
    assert client.get("/api/settings").expect(200).json()["database"] == "postgres" and not third.data.exists()
    assert address not in Path(f"/proc/{third.process.pid}/cmdline").read_text()
    assert "1 content" in third.said("check")
    third.secrets["GENBA_SERVE_DB"] = "postgres://genba@127.0.0.1:1/none"
    assert "1 content" in third.said("check", "--db", address)


def test_the_lists_agree(pair: Pair) -> None:
    clients = [server.client() for server in pair]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: clients[number % 2].push(crafted.unique(number), f"{number}.genba"), range(40)))
    lists = [[(one["id"], one["sha256"]) for one in client.recordings(sort="oldest")] for client in clients]
    assert lists[0] == lists[1] and {one["id"] for one in made} == {one for one, _ in lists[0]}
    clients[0].ask("DELETE", f"/api/recordings/{made[0]['id']}").expect(204)
    clients[1].get(f"/api/recordings/{made[0]['id']}").expect(404)
    found = [client.recordings(q="program:job_7") for client in clients]
    assert [one["name"] for one in found[0]] == [one["name"] for one in found[1]] == ["7.genba"]


def test_a_live_recording_is_followed_at_the_other(pair: Pair, honest: bytes, golden: bytes) -> None:
    one, other = (server.client() for server in pair)
    recording_id = one.begin("live.genba", live=True)
    one.append(recording_id, 0, honest).expect(204)
    whole, seen = honest, []
    for name, told in other.events(recording_id):
        seen.append(name)
        if name == "grown" and told["bytes"] == len(whole) == len(honest):
            whole = honest + golden
            one.append(recording_id, len(honest), golden).expect(204)
        elif name == "grown" and told["bytes"] == len(honest) + len(golden):
            one.seal(recording_id, whole).expect(200)
        elif name == "sealed":
            break
    assert seen[-1] == "sealed" and seen.count("grown") >= 2


def test_what_one_sealed_because_it_was_quiet_goes_on_at_the_other(pair: Pair, postgres: Postgres, honest: bytes, golden: bytes) -> None:
    one, other = (server.client() for server in pair)
    recording_id = one.begin("live.genba", live=True)
    one.append(recording_id, 0, honest).expect(204)
    pair[0].stop()
    [database] = [place.rpartition("/")[2] for place in pair[0].places if place.startswith("postgres://")]
    postgres.run(database, f"UPDATE recordings SET touched_ms = touched_ms - 1000000 WHERE id = '{recording_id}'")
    pair[0].start()
    until(lambda: other.get(f"/api/recordings/{recording_id}").expect(200).json()["state"] == "sealed")
    twin = other.push(honest)
    assert other.append(recording_id, len(honest), golden).expect(204).offset == len(honest + golden)
    assert one.get(f"/api/recordings/{recording_id}").expect(200).json()["live"]
    one.seal(recording_id, honest + golden).expect(200)
    one.append(recording_id, len(honest + golden), golden).expect(409)
    assert other.content(recording_id) == honest + golden and one.content(twin["id"]) == honest
    assert pair[1].verb("check").returncode == 0


def test_a_session_and_a_link_hold_at_both(pair: Pair, honest: bytes) -> None:
    token = pair[0].add_token("lena", "admin")
    one, other = (server.client(token) for server in pair)
    made = one.push(honest)
    cookie = one.with_token(None).ask("POST", "/api/session", {"token": token}).expect(204).headers["Set-Cookie"].partition(";")[0]
    nobody = other.with_token(None)
    nobody.get(made["url"], headers={"Cookie": cookie}).expect(200)
    link = one.ask("POST", f"/api/recordings/{made['id']}/links", {"expires_ms": None, "needs_token": False, "fragment": ""}).expect(201).json()
    nobody.get(link["url"]).expect(200, 303)
    other.ask("DELETE", f"/api/links/{link['code']}").expect(204)
    one.with_token(None).get(link["url"]).expect(410)


def test_kill_9_of_one_of_two(pair: Pair) -> None:
    killed, other = pair
    stop = threading.Event()
    uploaders = [Uploader(server.client(), 1000 * at + number, stop) for at, server in enumerate(pair) for number in range(5)]
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        running = [pool.submit(one.run) for one in uploaders]
        while min(len(one.sealed) + len(one.open) for one in uploaders) < 2:
            assert not any(one.done() and one.exception() for one in running)
        killed.kill()
        before = sum(len(one.sealed) for one in uploaders[5:])
        # The other goes on.
        while sum(len(one.sealed) for one in uploaders[5:]) < before + 5:
            assert not any(one.done() and one.exception() for one in running)
        stop.set()
    for one in running:
        one.result()
    check_nothing_lost(other.client(), uploaders)
    killed.start()
    assert [one["id"] for one in killed.client().recordings()] == [one["id"] for one in other.client().recordings()]
    assert other.verb("check").returncode == 0


def test_the_store_is_away(pair: Pair, s3: S3, golden: bytes) -> None:
    """In words, with 503, and it goes on by itself once the store is back."""
    client = pair[0].client()
    made = client.push(golden)
    s3.end()
    try:
        client.ask("POST", "/api/recordings", crafted.unique(1)).expect(503)
        client.get(f"/api/recordings/{made['id']}").expect(200)
        client.get("/health").expect(503)
    finally:
        s3.start()
    assert client.content(made["id"]) == golden
    client.push(crafted.unique(2))
    assert len(client.recordings()) == 2


def test_a_recording_is_deleted_while_the_store_says_nothing(pair: Pair, s3: S3, golden: bytes) -> None:
    """Seconds later, and not seconds for each of its parts: those are deleted afterwards. The client's own limit is the bound."""
    client = pair[0].client()
    recording_id = client.begin()
    for at in range(0, PARTS * PART_BYTES, PART_BYTES):
        client.append(recording_id, at, golden[at : at + PART_BYTES]).expect(204)
    s3.process.send_signal(signal.SIGSTOP)
    try:
        client.ask("DELETE", f"/api/recordings/{recording_id}").expect(204)
    finally:
        s3.process.send_signal(signal.SIGCONT)
    client.get(f"/api/recordings/{recording_id}").expect(404)
    assert client.content(client.push(golden)["id"]) == golden


def test_the_database_is_away(pair: Pair, postgres: Postgres, golden: bytes) -> None:
    client = pair[0].client()
    client.push(golden)
    postgres.end()
    try:
        problem = client.ask("POST", "/api/recordings", crafted.unique(3)).expect(503).json()
        assert problem["title"] and "genba@" not in str(problem)
        client.get("/health").expect(503)
    finally:
        postgres.start()
    client.push(crafted.unique(4))
    assert len(client.recordings()) == 2


class LostAnswers:
    """Passes on what goes to PostgreSQL and comes back. Armed, it breaks a connection in place of the next answer to a COMMIT, which is done.

    Silent, it breaks none: while it is armed, connections say nothing more from an answer to a COMMIT on, as when the database's host is lost.
    """

    def __init__(self, port: int, *, is_silent: bool = False) -> None:
        self.database_port, self.is_silent, self.is_armed, self.is_over = port, is_silent, threading.Event(), threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                here = self.listener.accept()[0]
                there = socket.create_connection(("127.0.0.1", self.database_port))
                for source, target, is_answer in ((here, there, False), (there, here, True)):
                    threading.Thread(target=self.pass_on, args=(source, target, is_answer), daemon=True).start()

    def pass_on(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                if is_answer and self.is_armed.is_set() and b"COMMIT\0" in piece:
                    if self.is_silent:
                        self.is_over.wait()
                    else:
                        self.is_armed.clear()
                    break
                target.sendall(piece)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def test_a_part_whose_commit_was_not_answered_is_kept(servers: Callable[..., Server], postgres: Postgres, s3: S3, golden: bytes) -> None:
    line = LostAnswers(postgres.port)
    address = postgres.database("unanswered").replace(f":{postgres.port}/", f":{line.port}/")
    server = servers("unanswered", places=["--db", address, "--store", s3.bucket("unanswered")], secrets=s3.secrets).start()
    client, piece = server.client(), golden[:100]
    recording_id, sent, answer = client.begin(), b"", None
    # The server commits other things as it starts: a part after the other, until it is one of theirs.
    while answer is None or answer.status == 204:
        line.is_armed.set()
        answer = client.append(recording_id, len(sent), piece)
        sent += piece
    answer.expect(503)
    assert client.offset(recording_id) == len(sent) and client.content(recording_id) == sent
    assert server.verb("check").returncode == 0
    line.listener.close()


def test_a_database_that_says_nothing_more_holds_no_request(servers: Callable[..., Server], postgres: Postgres, s3: S3, golden: bytes) -> None:
    """As when its host is lost in the middle of a statement, on all connections: 503 within a minute, and then new connections."""
    line = LostAnswers(postgres.port, is_silent=True)
    address = postgres.database("silent").replace(f":{postgres.port}/", f":{line.port}/")
    client = servers("silent", places=["--db", address, "--store", s3.bucket("silent")], secrets=s3.secrets).start().client()
    uploads, piece = [client.begin() for _ in range(CONNECTIONS)], golden[:100]
    line.is_armed.set()
    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as pool:
        answers = list(pool.map(lambda recording_id: client.append(recording_id, 0, piece), uploads))
    line.is_armed.clear()
    titles = {answer.expect(503).json()["title"] for answer in answers}
    assert "the database does not answer" in titles, titles
    until(lambda: client.get("/health").status == 200)
    # The commits were done, and only their answers were lost.
    offsets = [client.offset(recording_id) for recording_id in uploads]
    assert set(offsets) <= {0, len(piece)} and len(piece) in offsets
    for recording_id, offset in zip(uploads, offsets, strict=True):
        client.append(recording_id, offset, golden[offset:]).expect(204)
        client.seal(recording_id, golden).expect(200)
    line.is_over.set()
    line.listener.close()


def test_a_database_that_refuses(servers: Callable[..., Server], postgres: Postgres, s3: S3) -> None:
    """The cause is told, and no password."""
    s3_place = s3.bucket("refused")
    for name, address, cause in (
        ("gone", f"postgres://genba:db-secret@127.0.0.1:{free_port()}/none", "Connection refused"),
        ("other", f"postgres://genba:db-secret@127.0.0.1:{postgres.port}/none", 'database "none" does not exist'),
    ):
        server = servers(name, places=["--db", address, "--store", s3_place], secrets=s3.secrets)
        done = server.verb("token", "list")
        assert (done.returncode, done.stdout) == (1, "") and "cannot open the database 127.0.0.1/none" in done.stderr, done.stderr
        assert cause in done.stderr and "db-secret" not in done.stderr, done.stderr


def test_an_embedded_store_moves(servers: Callable[..., Server], postgres: Postgres, s3: S3, golden: bytes, honest: bytes) -> None:
    small = servers("small")
    token = small.add_token("lena", "admin")
    client = small.start().client(token)
    made = [client.push(golden, "a.genba", tags=("main",)), client.push(honest, "b.genba")]
    link = client.ask("POST", f"/api/recordings/{made[1]['id']}/links", {"expires_ms": None, "needs_token": False, "fragment": ""}).expect(201).json()
    recording_id = client.begin("open.genba")
    client.append(recording_id, 0, golden[:400]).expect(204)
    client.ask("PATCH", "/api/settings", {"keep_days": 30}).expect(200)
    before = client.recordings()
    assert small.stop() == 0
    places = ["--db", postgres.database("moved"), "--store", f"{s3.bucket('moved')}/team/a"]
    small.secrets.update(s3.secrets)
    # A server that ran there before has left its settings; those that move hold.
    assert servers("early", places=places, secrets=s3.secrets, flags=["--keep", "9d"]).start().stop() == 0
    small.said("move", *places)
    bucket = s3.buckets / "moved"
    assert len(list((bucket / "team/a/uploads" / recording_id).iterdir())) == 1 and not (bucket / "uploads").exists() and not (bucket / "content").exists()
    large = servers("large", places=places, secrets=s3.secrets).start()
    moved = large.client(token)
    assert moved.recordings() == before and moved.get("/api/settings").expect(200).json()["keep_days"] == 30
    assert moved.content(made[0]["id"]) == golden and moved.offset(recording_id) == 400
    moved.append(recording_id, 400, golden[400:]).expect(204)
    moved.seal(recording_id, golden).expect(200)
    moved.with_token(None).get(link["url"]).expect(200, 303)
    assert large.verb("check").returncode == 0
    # The small one is as it was, and nothing moves onto what is there already.
    assert small.start().client(token).recordings() == before
    small.stop()
    assert small.verb("move", *places).returncode == 1


def test_a_move_while_its_server_takes_uploads(servers: Callable[..., Server], postgres: Postgres, s3: S3) -> None:
    """What was acknowledged before is whole there; the rest stays behind."""
    small = servers("running", secrets=s3.secrets).start()
    places = ["--db", postgres.database("running"), "--store", s3.bucket("running")]
    stop = threading.Event()
    uploaders = [Uploader(small.client(), number, stop) for number in range(4)]
    with concurrent.futures.ThreadPoolExecutor(len(uploaders)) as pool:
        running = [pool.submit(each.run) for each in uploaders]
        try:
            while sum(len(each.sealed) for each in uploaders) < 20:
                assert not any(each.done() for each in running)
            acknowledged = {recording_id: recording for each in uploaders for recording_id, recording in each.sealed.copy().items()}
            done = small.verb("move", *places)
        finally:
            stop.set()
    assert all(each.result() is None for each in running)
    assert done.returncode == 0, done.stderr
    moved = servers("after", places=places, secrets=s3.secrets).start()
    for recording_id, recording in acknowledged.items():
        assert moved.client().content(recording_id) == recording
    checked = moved.verb("check")
    assert checked.returncode == 0, checked.stderr
    # Its copy of the rows is gone.
    assert not any(path.is_dir() for path in (small.data / "scratch").iterdir())
    check_nothing_lost(small.client(), uploaders)


def test_of_two_moves_at_once_into_one_place_one_is_done(
    servers: Callable[..., Server], postgres: Postgres, s3: S3, golden: bytes, honest: bytes
) -> None:
    places = ["--db", postgres.database("moves"), "--store", s3.bucket("moves")]
    made: dict[str, Server] = {}
    for name, recording in (("first", golden), ("second", honest)):
        server = servers(name, secrets=s3.secrets).start()
        made[server.client().push(recording)["id"]] = server
        assert server.stop() == 0
    with concurrent.futures.ThreadPoolExecutor(len(made)) as pool:
        done = dict(zip(made, pool.map(lambda server: server.verb("move", *places), made.values()), strict=True))
    assert sorted(one.returncode for one in done.values()) == [0, 1], done
    [refused] = [one.stderr for one in done.values() if one.returncode]
    assert "the database is not empty" in refused or "the database is busy" in refused
    moved = servers("moved", places=places, secrets=s3.secrets).start().client().recordings()
    assert [one["id"] for one in moved] == [recording_id for recording_id, one in done.items() if one.returncode == 0]


def test_a_move_that_failed_can_be_run_again(
    servers: Callable[..., Server], postgres: Postgres, s3: S3, golden: bytes, honest: bytes
) -> None:
    small = servers("torn", secrets=s3.secrets).start()
    places = ["--db", postgres.database("torn"), "--store", s3.bucket("torn")]
    for recording in (golden, honest):
        small.client().push(recording)
    [path] = [path for path in (small.data / "objects").rglob("*") if path.is_file() and path.read_bytes() == honest]
    path.unlink()
    failed = small.verb("move", *places)
    assert failed.returncode == 1 and "missing" in failed.stderr, failed.stderr
    # The same bytes heal the source.
    small.client().push(honest)
    small.said("move", *places)
    moved = servers("healed", places=places, secrets=s3.secrets).start()
    assert sorted(one["id"] for one in moved.client().recordings()) == sorted(one["id"] for one in small.client().recordings())
    assert "3 recordings, 2 contents" in moved.said("check")


def test_a_backup_made_while_uploads_run(pair: Pair, servers: Callable[..., Server], postgres: Postgres, s3: S3, golden: bytes) -> None:
    """As docs/serve.md says: first the database, then the bucket. All that was sealed before is whole; an open upload may have lost its parts."""
    database, bucket = (place.rpartition("/")[2] for place in pair[0].places[1::2])
    one = pair[0].client()
    going_on, lost = (one.begin(name) for name in ("going-on.genba", "lost.genba"))
    for recording_id in (going_on, lost):
        one.append(recording_id, 0, golden[:600]).expect(204)
    stop = threading.Event()
    uploaders = [Uploader(server.client(), 1000 * at + number, stop) for at, server in enumerate(pair) for number in range(4)]
    with concurrent.futures.ThreadPoolExecutor(len(uploaders)) as pool:
        running = [pool.submit(each.run) for each in uploaders]
        try:
            while min(len(each.sealed) for each in uploaders) < 2:
                assert not any(each.done() for each in running)
            acknowledged = {recording_id for each in uploaders for recording_id in each.sealed.copy()}
            address = postgres.copy(database, "restored")
            one.append(lost, 600, golden[600:]).expect(204)
            one.seal(lost, golden).expect(200)
            store = s3.copy(bucket, "restored")
        finally:
            stop.set()
    assert all(each.result() is None for each in running)
    sealed = {recording_id: recording for each in uploaders for recording_id, recording in each.sealed.items()}
    restored = servers("restored", places=["--db", address, "--store", store], secrets=s3.secrets).start()
    client = restored.client()
    listed = {each["id"]: each["state"] for each in client.recordings()}
    assert acknowledged <= set(listed) <= set(sealed) and set(listed.values()) == {"sealed"}
    for recording_id in listed:
        assert client.content(recording_id) == sealed[recording_id]
    # The check names the parts, and nothing else: this upload begins anew.
    checked = restored.verb("check")
    faults = [line for line in checked.stderr.splitlines() if line.startswith("  ")]
    assert checked.returncode == 1 and all("the part " in line and " of an upload is not there" in line for line in faults) and any(lost in line for line in faults), checked.stderr
    assert client.content(client.push(golden)["id"]) == golden
    # The other one goes on.
    client.append(going_on, 600, golden[600:]).expect(204)
    client.seal(going_on, golden).expect(200)
    for recording_id in (lost, *sealed):
        if client.get(f"/api/recordings/{recording_id}").expect(200, 404).status == 200 and recording_id not in listed:
            client.ask("DELETE", f"/api/recordings/{recording_id}").expect(204)
    assert restored.verb("check").returncode == 0


def test_check_finds_what_is_missing_in_the_store(pair: Pair, s3: S3, golden: bytes) -> None:
    made = pair[0].client().push(golden)
    bucket = s3.buckets / pair[0].places[-1].removeprefix("s3://")
    [path] = [path for path in bucket.rglob("*") if path.is_file() and path.read_bytes() == golden]
    path.unlink()
    done = pair[1].verb("check")
    assert done.returncode == 1 and made["id"] in done.stdout + done.stderr
    # The same bytes heal it, whoever sends them.
    pair[1].client().push(golden)
    assert pair[0].client().content(made["id"]) == golden and pair[1].verb("check").returncode == 0


def test_wrong_settings_are_said_at_the_start(servers: Callable[..., Server], postgres: Postgres, s3: S3) -> None:
    """By a server that ends, and without the secrets."""
    right = {"db": postgres.database("wrong"), "store": s3.bucket("wrong"), **s3.secrets}
    wrong = {
        "key": {"AWS_SECRET_ACCESS_KEY": "another-secret"},
        "endpoint": {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"},
        "bucket": {"store": "s3://no-such-bucket"},
        "database": {"db": "postgres://genba:db-secret@127.0.0.1:1/none"},
    }
    for name, change in wrong.items():
        given = {**right, **change}
        server = servers(name, places=["--db", given.pop("db"), "--store", given.pop("store")], secrets=given)
        command = [str(binary()), "serve", "--listen", "127.0.0.1:0", *server.places]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(server.secrets), cwd=server.folder)
        try:
            # The end of the words is the end of the process; an address is printed at once.
            assert process.stdout.readline() == "", name
        finally:
            process.kill()
            _, said = process.communicate(timeout=60)
        assert "error: " in said and not any(secret in said for secret in ("another-secret", "db-secret", s3.secrets["AWS_SECRET_ACCESS_KEY"])), f"{name}: {said}"
