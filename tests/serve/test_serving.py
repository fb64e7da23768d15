"""`genba serve` on a fresh machine: it listens, takes recordings, answers about them, and ends in order."""

import base64
import concurrent.futures
import contextlib
import hashlib
import json
import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import crafted
import longlist
from client import PROBLEM, Client
from recording import REPOSITORY, binary, genba_said
from served import Server, Team, environment

OPENAPI = REPOSITORY / "crates/server/openapi.yaml"


def test_a_recording_comes_back_as_it_was(server: Server, golden: bytes) -> None:
    client = server.client()
    made = client.push(golden, "slices.genba", tags=("pull-418", "build=7"), host="build-7")
    digest = hashlib.sha256(golden).hexdigest()
    said = {name: made[name] for name in ("name", "state", "live", "owner", "host", "bytes", "sha256")}
    assert said == {"name": "slices.genba", "state": "sealed", "live": False, "owner": "local", "host": "build-7", "bytes": len(golden), "sha256": digest}
    assert {"pull-418", "build=7"} <= set(made["tags"]) and made["url"] == f"/r/{made['id']}" and made["may"] == {"change": True}
    assert client.get(f"/api/recordings/{made['id']}").expect(200).json() == made
    assert client.content(made["id"]) == golden
    assert [one["id"] for one in client.recordings()] == [made["id"]]
    page = client.get(made["url"]).expect(200)
    assert page.kind == "text/html" and b"<html" in page.body.lower()


def test_a_nul_is_refused_everywhere(server: Server) -> None:
    """PostgreSQL keeps no text with one."""
    client = server.client()
    cursor = base64.urlsafe_b64encode(b"1,\0").decode().rstrip("=")
    asked = [
        ("GET", "/api/recordings?q=a%00b"),
        ("GET", "/api/recordings?unknown=%00"),
        ("GET", f"/api/recordings?cursor={cursor}"),
        ("POST", "/api/recordings?name=%00", b"main 1\n"),
        ("POST", "/api/recordings", {"name": "a", "tags": ["b\0"]}),
        ("POST", "/api/session", {"token": "\0"}),
        ("POST", "/api/tokens", {"name": "a", "scopes": ["read\0"]}),
        ("POST", "/api/tokens/%00/rotate"),
        ("DELETE", "/api/tokens/%00"),
        ("DELETE", "/api/links/%00"),
        ("GET", "/s/a%00"),
        ("GET", "/s/a%00/recording"),
        ("GET", "/r/%00"),
        ("GET", "/api/recordings/%00/tree"),
    ]
    for method, path, *body in asked:
        answer = client.ask(method, path, *body)
        assert (answer.status, answer.kind) == (400, PROBLEM), f"{method} {path} {body}: {answer.status} {answer.body[:200]!r}"
    # The letters %00 are no NUL.
    client.get("/api/recordings?q=%2500").expect(200)
    client.get("/s/%2500").expect(404)


def test_the_facts_are_those_of_the_command(server: Server, recorded: Path) -> None:
    client = server.client()
    facts = client.push(recorded.read_bytes())["facts"]
    report = json.loads(genba_said("report", recorded, "--format", "json"))
    assert (facts["verdict"]["kind"], facts["verdict"]["words"]) == (report["verdict"]["name"], report["verdict"]["words"])
    [process] = report["processes"]
    # The program's, as every page and report shows it.
    assert (facts["cpu_ns"], facts["wall_ns"]) == (report["cpu_ns"] - process["cpu_genba_ns"], report["wall_ns"])
    assert process["cpu_genba_ns"] > 0
    assert facts["samples"] == json.loads(genba_said("tree", recorded, "--format", "json"))["samples"]
    assert facts["processes"] == 1 and facts["ended"] and facts["faults"] == [] and "build=42" in facts["tags"]
    assert facts["program"].split()[0] == "orders.py" or "orders.py" in facts["program"]
    assert len(facts["spark"]) == 60 and sum(facts["spark"]) <= facts["cpu_ns"]


def test_the_views_are_those_of_the_command(server: Server, recorded: Path, tmp_path: Path) -> None:
    client = server.client()
    route = f"/api/recordings/{client.push(recorded.read_bytes())['id']}"
    views = {
        "tree": ({}, ["tree", "--min-share", "0"]),
        "tree?": ({"weight": "wall", "inverted": "true"}, ["tree", "--weight", "wall", "--inverted", "--min-share", "0"]),
        "rows": ({}, ["report"]),
        "rows?": ({"by": "function", "sort": "total", "weight": "cpu", "limit": "5"}, ["report", "--by", "function", "--sort", "total", "--weight", "cpu", "--limit", "5"]),
    }
    for name, (query, command) in views.items():
        answer = client.get(f"{route}/{name.rstrip('?')}", query=query).expect(200)
        verb, *flags = command
        assert answer.json() == json.loads(genba_said(verb, recorded, "--format", "json", *flags)), name


def test_memory_in_windows(server: Server, recorded: Path) -> None:
    client = server.client()
    route = f"/api/recordings/{client.push(recorded.read_bytes())['id']}/memory"
    answer = client.get(route, query={"bins": "10"}).expect(200).json()
    windows = answer["windows"]
    assert len(windows) == 10 and all(one["to_ns"] == other["from_ns"] for one, other in zip(windows, windows[1:]))
    told = [one for one in windows if one["mean_bytes"] is not None]
    assert told and all(0 < one["mean_bytes"] <= one["max_bytes"] for one in told)
    assert max(one["max_bytes"] for one in told) == json.loads(genba_said("report", recorded, "--format", "json"))["rss_max_bytes"]
    assert answer["most_frequent"]["samples"] > 0 and answer["most_frequent"]["frames"][: len(answer["common"])] == answer["common"]
    part = client.get(route, query={"from_ns": str(windows[2]["from_ns"]), "to_ns": str(windows[2]["to_ns"]), "bins": "1"}).expect(200).json()
    assert [(one["from_ns"], one["to_ns"]) for one in part["windows"]] == [(windows[2]["from_ns"], windows[2]["to_ns"])]


def test_two_recordings_are_compared(server: Server, recorded: Path, honest: bytes, tmp_path: Path) -> None:
    client = server.client()
    before, after = client.push(honest), client.push(recorded.read_bytes())
    answer = client.get(f"/api/recordings/{before['id']}/difference/{after['id']}").expect(200).json()
    (tmp_path / "before.genba").write_bytes(honest)
    expected = json.loads(genba_said("diff", tmp_path / "before.genba", recorded, "--format", "json"))
    named = lambda page: {name: value for name, value in page.items() if name not in ("before", "after", "warnings")}
    assert named(answer) == named(expected)
    assert client.get(f"/compare/{before['id']}/{after['id']}").expect(200).kind == "text/html"


def test_the_search_finds_by_what_a_recording_is(server: Server, recorded: Path, golden: bytes, honest: bytes) -> None:
    client = server.client()
    ids = {
        "orders": client.push(recorded.read_bytes(), "orders.genba", host="api-3")["id"],
        "slices": client.push(golden, "slices.genba", tags=("main",), host="build-7")["id"],
        "app": client.push(honest, "app.genba", tags=("pull-418", "main"), host="build-9")["id"],
    }
    names = {value: name for name, value in ids.items()}
    cases = {
        "program:orders": {"orders"},
        "program:ORDERS": {"orders"},
        "tag:main": {"slices", "app"},
        "tag:main tag:pull-418": {"app"},
        "host:build-*": {"slices", "app"},
        "host:api-* or build-9": {"orders", "app"},
        "function:parse": {"orders"},
        "who:local": {"orders", "slices", "app"},
        "verdict:waiting": {"slices"},
        "since:1h": {"orders", "slices", "app"},
        "until:2020-01-01": set(),
        "cpu>200ms": {"orders", "app"},
        "cpu>200ms host:build-*": {"app"},
        "wall<1m size<1MB": {"orders", "slices", "app"},
        '"slices.py"': {"slices"},
        "nothing-like-this": set(),
    }
    found = {query: {names[one["id"]] for one in client.recordings(q=query)} for query in cases}
    assert found == cases
    page = client.get("/api/recordings", query={"q": "tag:main"}).expect(200).json()
    assert (page["matched"], page["all"], page["live"]) == (2, 3, 0) and page["all_bytes"] == sum(one["bytes"] for one in client.recordings())
    for chip in page["chips"]:
        assert client.get("/api/recordings", query={"q": chip["query"]}).expect(200).json()["matched"] >= chip["count"] > 0, chip


@pytest.mark.measures
def test_a_search_counts_to_a_thousand(server: Server) -> None:
    client = server.client()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: client.push(crafted.unique(number), f"{number}.genba", tags=(f"half-{number % 2}",)), range(1_002)))
    counts = lambda query: client.get("/api/recordings", query={"q": query, "limit": "10"}).expect(200).json()
    told = {query: (counts(query)["matched"], counts(query)["matched_is_least"]) for query in ("", "who:local", "tag:half-0", "who:local tag:half-0", "size>0B")}
    assert told == {
        "": (1_002, False), "who:local": (1_000, True), "tag:half-0": (501, False), "who:local tag:half-0": (501, False), "size>0B": (1_000, True),
    }
    newest = [one["id"] for one in counts("")["recordings"]]
    assert newest == [one["id"] for one in counts("who:local")["recordings"]]
    halves = [[one["id"] for one in counts(f"tag:half-{half}")["recordings"]] for half in range(2)]
    assert [one for half in halves for one in half if one in newest] and set(newest) <= set(halves[0] + halves[1])


def test_a_search_looks_at_a_part_of_a_long_list_at_a_time(server: Server) -> None:
    with contextlib.closing(sqlite3.connect(server.data / "genba.sqlite")) as database, database:
        for statement in longlist.STATEMENTS:
            database.execute(statement)
    longlist.check_parts(server.client())


def test_pages_of_the_list_leave_nothing_out(server: Server, golden: bytes) -> None:
    client = server.client()
    for number in range(7):
        client.push(golden, f"{number}.genba")
    created, facts = lambda one: one["created_ms"], lambda name: lambda one: one["facts"][name] or 0
    places = {"newest": created, "oldest": created, "cpu": facts("cpu_ns"), "wall": facts("wall_ns"), "size": lambda one: one["bytes"]}
    for sort, order in (("newest", "6543210"), ("oldest", "0123456"), ("cpu", None), ("wall", None), ("size", None)):
        seen, cursor = "", None
        while True:
            query = {"limit": "3", "sort": sort, **({"cursor": cursor} if cursor else {})}
            page = client.get("/api/recordings", query=query).expect(200).json()
            seen += "".join(one["name"][0] for one in page["recordings"])
            cursor = page["next"]
            *_, last = page["recordings"]
            assert page["reached"] == (None if cursor is None else {"place": places[sort](last), "id": last["id"]}), sort
            if cursor is None:
                break
        assert sorted(seen) == list("0123456") and order in (None, seen), sort


def test_a_list_goes_on_at_a_cursor_of_an_earlier_version(server: Server, golden: bytes) -> None:
    """A page that was open while the server was replaced. One that nobody can read is answered with how the list begins anew."""
    client = server.client()
    for number in range(5):
        client.push(golden, f"{number}.genba", tags=("nightly",))
    asked = {"q": "tag:nightly", "limit": "2"}
    page = client.get("/api/recordings", query=asked).expect(200).json()
    value, recording_id, _, matched, more = base64.urlsafe_b64decode(page["next"] + "==").decode().split(",")
    assert (int(matched), more) == (page["matched"], "") == (5, "")
    after = lambda *parts: client.get("/api/recordings", query={**asked, "cursor": base64.urlsafe_b64encode(",".join(parts).encode()).decode().rstrip("=")})
    for parts in ((value, recording_id), (value, recording_id, matched, more)):
        found = after(*parts).expect(200).json()
        assert ([one["name"][0] for one in found["recordings"]], found["matched"]) == (["2", "1"], 5), parts
    refused = after(value, recording_id, "of", "a", "later", "version").expect(400)
    assert refused.kind == PROBLEM and "begins anew" in refused.json()["hint"]


def test_changing_and_deleting(server: Server, golden: bytes) -> None:
    client = server.client()
    made = client.push(golden)
    route = f"/api/recordings/{made['id']}"
    changed = client.ask("PATCH", route, {"name": "other.genba", "tags": ["a", "b=c"]}).expect(200).json()
    assert (changed["name"], set(changed["tags"]) >= {"a", "b=c"}, changed["sha256"]) == ("other.genba", True, made["sha256"])
    assert client.ask("PATCH", route, {"tags": ["twin", "twin"]}).expect(200).json()["tags"].count("twin") == 1
    assert client.ask("PATCH", route, {"tags": []}).expect(200).json()["name"] == "other.genba"
    for blank in ({"name": " "}, {"tags": ["a", "\u3000"]}):
        client.ask("PATCH", route, blank).expect(400)
    # The same bytes twice are two recordings with one content: deleting one leaves the other whole.
    twin = client.push(golden, tags=("twin", "twin"))
    assert twin["tags"].count("twin") == 1
    client.ask("DELETE", route).expect(204)
    for method, path in (("GET", route), ("GET", f"{route}/content"), ("GET", made["url"]), ("DELETE", route)):
        client.ask(method, path).expect(404)
    assert client.content(twin["id"]) == golden


def test_an_upload_in_pieces(server: Server, golden: bytes) -> None:
    client = server.client()
    recording_id = client.begin("pieces.genba", tags=["nightly"], host="api-1")
    opened = client.get(f"/api/recordings/{recording_id}").expect(200).json()
    assert (opened["state"], opened["sealed_ms"], opened["sha256"], opened["host"]) == ("open", None, None, "api-1")
    assert client.append(recording_id, 0, golden[:700]).expect(204).offset == 700 == client.offset(recording_id)
    assert client.content(recording_id) == golden[:700]
    # Wrong places: before, behind, far away. The right one is in the answer.
    for wrong in (0, 699, 701, 10**15):
        assert client.append(recording_id, wrong, golden[700:]).expect(409).offset == 700
    client.seal(recording_id, golden).expect(409)
    assert client.append(recording_id, 700, golden[700:]).expect(204).offset == len(golden)
    client.seal(recording_id, golden[:-1] + b"x").expect(409)
    sealed = client.seal(recording_id, golden).expect(200).json()
    assert (sealed["state"], sealed["bytes"]) == ("sealed", len(golden)) and sealed["facts"]["verdict"]["kind"] == "waiting"
    head = client.ask("HEAD", f"/api/recordings/{recording_id}/content").expect(200)
    assert (head.offset, head.headers["Upload-Complete"]) == (len(golden), "?1")
    assert client.append(recording_id, len(golden), b"more").expect(409).offset == len(golden)
    assert client.content(recording_id) == golden


def test_what_is_no_recording_is_refused_when_it_is_sealed(server: Server) -> None:
    client = server.client()
    recording_id = client.begin()
    client.append(recording_id, 0, b"no recording at all").expect(204)
    problem = client.seal(recording_id, b"no recording at all").expect(422).json()
    assert problem["status"] == 422 and "recording" in problem["title"] + problem.get("detail", "")
    assert [one for one in client.recordings() if one["state"] == "sealed"] == []


def test_curl_uploads_a_file(server: Server, golden: bytes, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl")
    (tmp_path / "app.genba").write_bytes(golden)
    url = f"http://127.0.0.1:{server.port}/api/recordings?name=app.genba&tag=a&tag=b"
    # As docs/serve.md has it, where curl names the type of a form, and with the file's own type.
    for more in ([], ["-H", "Content-Type: application/octet-stream"]):
        command = ["curl", "-sS", "--fail", *more, "--data-binary", "@app.genba", url]
        made = json.loads(subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, env=environment()).stdout)
        assert server.client().content(made["id"]) == golden and {"a", "b"} <= set(made["tags"]) and made["name"] == "app.genba", more


def test_what_answers(server: Server, servers: Callable[..., Server]) -> None:
    client = server.client()
    described = client.get("/api").expect(200).json()
    assert (described["name"], described["login"]) == ("genba", False) and described["limits"]["chunk_bytes_max"] > 0
    assert client.get("/api/session").expect(200).json() == {"name": "local", "scopes": ["read", "write", "admin"], "login": False}
    assert client.get("/health").expect(200).json() == {"status": "ok"}
    told = client.get("/metrics").expect(200)
    figures = told.body.decode()
    # The end mark is OpenMetrics alone.
    assert figures.count("# TYPE genba_") > 3 and figures.endswith("\n# EOF\n")
    assert told.headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert client.get("/api/openapi.yaml").expect(200).body == OPENAPI.read_bytes()
    # A second server on the same data that does not start changes nothing.
    done = server.verb("--listen", f"127.0.0.1:{server.port}", "--keep", "1d")
    assert done.returncode == 1 and "cannot listen on" in done.stderr, done.stderr
    settings = client.get("/api/settings").expect(200).json()
    assert (settings["database"], settings["store"], settings["keep_days"]) == ("sqlite", "folder", None)
    assert client.ask("PATCH", "/api/settings", {"keep_days": 30}).expect(200).json()["keep_days"] == 30
    for path in ("/", "/tokens", "/settings", "/login"):
        assert client.get(path).expect(200).kind == "text/html"
    Team.of(server)
    assert client.get("/api").expect(200).json()["login"] is True
    client.get("/api/session").expect(401)
    by_name = servers("by-name").start(listen="localhost:0")
    assert by_name.client().get("/health").expect(200).json() == {"status": "ok"}


def test_metrics_count_what_happens(server: Server, honest: bytes, golden: bytes) -> None:
    client = server.client()

    def counts() -> dict[str, float]:
        lines = client.get("/metrics").expect(200).body.decode().splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line.startswith("genba_"))}

    assert {name: value for name, value in counts().items() if "http" not in name} == {
        "genba_uploaded_bytes_total": 0, "genba_recordings_sealed_total": 0, "genba_recordings": 0, "genba_recordings_bytes": 0, "genba_recordings_live": 0,
    }
    client.push(golden)
    live = client.begin(live=True)
    client.append(live, 0, honest).expect(204)
    client.append(live, 0, honest).expect(409)
    client.get("/nowhere").expect(404)
    routes = ("/api/recordings", "/api/recordings/{id}/content", "none")
    assert {name: value for name, value in counts().items() if "http" not in name or any(f'"{route}"' in name for route in routes)} == {
        "genba_uploaded_bytes_total": len(golden) + len(honest), "genba_recordings_sealed_total": 1,
        "genba_recordings": 2, "genba_recordings_bytes": len(golden) + len(honest), "genba_recordings_live": 1,
        'genba_http_requests_total{route="/api/recordings",status="201"}': 2,
        'genba_http_requests_total{route="/api/recordings/{id}/content",status="204"}': 1,
        'genba_http_requests_total{route="/api/recordings/{id}/content",status="409"}': 1,
        'genba_http_requests_total{route="none",status="404"}': 1,
    }
    client.seal(live, honest).expect(200)
    after = counts()
    assert (after["genba_recordings_sealed_total"], after["genba_recordings_live"], after["genba_recordings"]) == (2, 0, 2)


def test_beyond_loopback_it_wants_a_token(servers: Callable[..., Server]) -> None:
    server = servers()
    command = [str(binary()), "serve", "--listen", "0.0.0.0:0", *server.places]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment())
    assert (done.returncode, done.stdout) == (2, "")
    assert "authentication is needed" in done.stderr and f"hint: genba serve token add NAME --data {server.data}\n" in done.stderr
    server.add_token("sam", "admin")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    port = int(process.stdout.readline().strip().rstrip("/").rpartition(":")[2])
    Client(port).get("/api/session").expect(401)
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_variable_names_the_database(servers: Callable[..., Server]) -> None:
    """For a command line that shows no password. A refusal does not repeat the password; test_several_servers.py has a database."""
    server = servers()
    server.add_token("sam", "admin")
    server.secrets["GENBA_SERVE_DB"] = "mysql://genba:db-secret@127.0.0.1/none"
    for words in (("token", "list"), ("check",)):
        done = server.verb(*words)
        assert (done.returncode, done.stdout) == (2, "") and "begins with postgres://" in done.stderr and "db-secret" not in done.stderr
    server.secrets["GENBA_SERVE_DB"] = ""
    server.said("token", "list")


def test_it_ends_in_order(server: Server, golden: bytes) -> None:
    client = server.client()
    made = client.push(golden)
    recording_id = client.begin()
    client.append(recording_id, 0, golden[:100]).expect(204)
    # A request that is under way is answered, a stream of events does not hold the end up.
    events = client.events(recording_id)
    assert next(events)[0] == "grown"
    request = b"POST /api/recordings?name=late.genba HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/octet-stream\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as late:
        late.sendall(request + f"Content-Length: {len(golden)}\r\nConnection: close\r\n\r\n".encode() + golden[:500])
        assert server.client().get("/health").status == 200
        server.process.terminate()
        late.sendall(golden[500:])
        answer = b"".join(iter(lambda: late.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 201 "), answer[:200]
    assert server.process.wait(60) == 0
    list(events)
    server.start()
    assert {one["name"] for one in client.recordings() if one["state"] == "sealed"} == {"app.genba", "late.genba"}
    assert client.offset(recording_id) == 100 and client.content(made["id"]) == golden


def test_old_recordings_are_pruned(server: Server, golden: bytes) -> None:
    client = server.client()
    made = client.push(golden)
    server.said("prune", "--older", "1d")
    assert client.content(made["id"]) == golden
    server.said("prune", "--older", "0s")
    client.get(f"/api/recordings/{made['id']}").expect(404)
    assert not any(golden == path.read_bytes() for path in server.data.rglob("*") if path.is_file())


def test_a_chore_makes_no_data_where_there_is_none(servers: Callable[..., Server], tmp_path: Path) -> None:
    """Such as in a folder that somebody mistyped. The first token may be made before the server starts."""
    server = servers()
    places = ["--db", "postgres://genba@127.0.0.1:1/none", "--store", "s3://none"]
    chores = (["check"], ["prune", "--older", "30d"], ["backup", str(tmp_path / "backup")], ["move", *places], ["token", "list"], ["token", "rotate", "sam"], ["token", "revoke", "sam"])
    for is_there in (False, True):
        for words in chores:
            done = server.verb(*words)
            assert done.returncode == 1 and "there is no data of a server in" in done.stderr and "hint: " in done.stderr, (words, done.stderr)
            assert server.data.exists() == is_there and not (tmp_path / "backup").exists()
        server.data.mkdir(exist_ok=True)
        assert not list(server.data.iterdir())
    server.add_token("sam", "admin")
    assert server.said("token", "list").startswith("sam ")


def test_a_chore_that_fails_sends_nobody_to_the_log_of_a_server(servers: Callable[..., Server], tmp_path: Path) -> None:
    server = servers()
    server.add_token("sam", "admin")
    with contextlib.closing(sqlite3.connect(server.data / "genba.sqlite")) as database, database:
        database.execute("DROP TABLE contents")
    for words in (["check"], ["prune", "--older", "30d"], ["backup", str(tmp_path / "backup")]):
        done = server.verb(*words)
        assert (done.returncode, done.stdout) == (1, "") and "no such table: contents" in done.stderr, (words, done.stderr)
        assert "the command failed: " in done.stderr and "the error above has the reason" in done.stderr, (words, done.stderr)
        assert "the server failed" not in done.stderr and "server's log" not in done.stderr, (words, done.stderr)


def test_nobody_else_reads_the_files(servers: Callable[..., Server], golden: bytes, tmp_path: Path) -> None:
    """In a folder that others may read, whatever the umask is."""
    server = servers(before=["sh", "-c", 'umask 022 && exec "$@"', "sh"])
    backup = tmp_path / "backup"
    for folder in (server.data, backup):
        folder.mkdir()
        folder.chmod(0o755)
    client = server.start().client()
    client.push(golden)
    client.append(client.begin(), 0, golden).expect(204)
    done = server.verb("backup", str(backup), before=server.before)
    assert done.returncode == 0, done.stderr
    for folder in (server.data, backup):
        modes = {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in folder.rglob("*")}
        assert {"genba.sqlite", "objects", "objects/content", "objects/uploads"} <= set(modes)
        assert not {name: oct(mode) for name, mode in modes.items() if mode & 0o077}
