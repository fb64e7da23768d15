"""What was acknowledged is on disk: by a trace of system calls, after kill -9 in the middle, and when the disk is full."""

import concurrent.futures
import http.client
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import crafted
from client import Answer, Client
from running_program import until
from served import Server
from soak import SOAK
from uploads import Uploader, check_nothing_lost

UPLOADS = 12
KILLS = 4
# `make soak`: 50 clients at once with recordings of 20 MB, and readers.
LOADED_UPLOADS, LOADED_BYTES, READERS, LOADED_SEALS = (50, 20_000_000, 16, 200) if SOAK else (8, 600_000, 4, 24)
# One call a line: `[pid N] name(args) = result`; with -y descriptors carry their paths.
CALL = re.compile(r"^(?:\d+ |\[pid +\d+\] )?(?:\d+\.\d+ )?(\w+)\((.*)$")
DATABASE = "genba.sqlite"
SYNCS = ("fsync", "fdatasync", "sync_file_range", "syncfs")
WRITES = ("write", "writev", "pwrite64", "pwritev")
# The store takes more than 8 MiB in several parts.
BODIES = {"small": 0, "large": 9_000_000}
PIECE_BYTES = 4_000_000


class Call(NamedTuple):
    """Of a trace in the order of the ends. How many others had ended when it began says what it comes after."""

    name: str
    words: str
    ended_before: int


def traced(server: Server, work: Callable[[], None], tmp_path: Path) -> list[Call]:
    """The calls of a server while `work` runs."""
    if shutil.which("strace") is None:
        pytest.skip("no strace (make prepare, as root)")
    output = tmp_path / "trace"
    names = "fsync,fdatasync,syncfs,sync_file_range,write,writev,pwrite64,pwritev,sendto,sendmsg,rename,renameat,renameat2,link,linkat"
    tracer = subprocess.Popen(["strace", "-f", "-y", "-s", "64", "-e", f"trace={names}", "-o", str(output), "-p", str(server.process.pid)], stderr=subprocess.PIPE, text=True)
    line = tracer.stderr.readline()
    if "attached" not in line:
        tracer.wait()
        pytest.skip(f"strace cannot attach here: {line.strip()}")
    try:
        work()
    finally:
        tracer.terminate()
        tracer.wait()
    return calls_of(output.read_text(errors="replace"))


def calls_of(trace: str) -> list[Call]:
    """Strace tears a call apart when another thread makes one meanwhile, and the answer arrives before strace has seen the call end that sends it."""
    calls: list[Call] = []
    begun: dict[str, tuple[str, int]] = {}
    for line in trace.splitlines():
        pid, _, rest = line.partition(" ")
        rest, ended_before = rest.strip(), len(calls)
        if rest.endswith("<unfinished ...>"):
            # With the blank before it no path would be followed by a parenthesis any more.
            begun[pid] = rest.removesuffix("<unfinished ...>").rstrip(), ended_before
            continue
        if resumed := re.match(r"<\.\.\. \w+ resumed>(.*)", rest):
            beginning, ended_before = begun.pop(pid, ("", ended_before))
            rest = beginning + resumed[1]
        if found := CALL.match(rest):
            calls.append(Call(found[1], found[2], ended_before))
    # Strace ended before these did.
    calls += [Call(found[1], found[2], ended_before) for beginning, ended_before in begun.values() if (found := CALL.match(beginning))]
    return calls


def before_answer(calls: list[Call], status: int) -> list[Call]:
    """What had ended when the answer began to go out."""
    places = [call.ended_before for call in calls if call.name in ("write", "writev", "sendto", "sendmsg") and f"HTTP/1.1 {status}" in call.words]
    assert places, f"no answer {status} in the trace"
    return calls[: places[0]]


def is_of(path: str, file: Path) -> bool:
    """Under its own name, or under the one it is written with."""
    return re.sub(r"#\d+$", "", path.removesuffix(" (deleted)")) == str(file)


def assert_synced(calls: list[Call], file: Path, database: Path) -> None:
    """All bytes of that very file, then its place, then its folder, then the row. Each begins when the one before it has ended."""
    found = [(at, re.match(r"\d+<(.*?)>\)\s+= 0", call.words)) for at, call in enumerate(calls) if call.name in SYNCS]
    synced = [(at, match[1]) for at, match in found if match]
    synced_behind = lambda place, is_it: [at for at, path in synced if calls[at].ended_before > place and is_it(path)]
    wrote = [at for at, call in enumerate(calls) if call.name in WRITES and (to := re.match(r"\d+<(.*?)>, ", call.words)) and is_of(to[1], file)]
    assert wrote, f"nothing is written to {file}"
    files = synced_behind(wrote[-1], lambda path: is_of(path, file))
    assert files, f"{file} is not synced after its last byte: {calls}"
    placed = [at for at, call in enumerate(calls) if call.name.startswith(("rename", "link")) and f'"{file}"' in call.words]
    assert placed and files[0] < calls[placed[0]].ended_before, f"{file} is in its place before its bytes are synced: {calls}"
    folders = synced_behind(placed[0], lambda path: path == str(file.parent))
    assert folders, f"the folder of {file} is not synced after the move: {calls}"
    rows = synced_behind(folders[0], lambda path: re.fullmatch(re.escape(str(database)) + "(-wal|-journal)?", path))
    assert rows, f"no row is synced after {file}: {calls}"


# What a busy machine makes of a trace: the calls of one upload, with another thread's in between.
TORN = """\
11    write(9</d/objects/part#1>, "\\211genba"..., 4000000 <unfinished ...>
12    write(5<anon_inode:[eventfd]>, "\\1", 8) = 8
11    <... write resumed>) = 4000000
11    fsync(9</d/objects/part#1> <unfinished ...>
12    write(5<anon_inode:[eventfd]>, "\\1", 8) = 8
11    <... fsync resumed>)              = 0
11    rename("/d/objects/part#1", "/d/objects/part" <unfinished ...>
12    write(5<anon_inode:[eventfd]>, "\\1", 8) = 8
11    <... rename resumed>)             = 0
11    fsync(9</d/objects> <unfinished ...>
12    write(5<anon_inode:[eventfd]>, "\\1", 8) = 8
11    <... fsync resumed>)              = 0
13    fdatasync(7</d/genba.sqlite-wal> <unfinished ...>
12    write(5<anon_inode:[eventfd]>, "\\1", 8) = 8
13    <... fdatasync resumed>)          = 0
12    sendto(10<TCP:[1->2]>, "HTTP/1.1 204 No Content\\r\\nupload"..., 300, MSG_NOSIGNAL, NULL, 0 <unfinished ...>
11    write(5<anon_inode:[eventfd]>, "\\1", 8) = 8
"""


def test_a_trace_of_several_threads_is_read_as_it_was() -> None:
    part, database = Path("/d/objects/part"), Path("/d/genba.sqlite")
    assert_synced(before_answer(calls_of(TORN), 204), part, database)
    lines = TORN.splitlines(keepends=True)
    for what, order in (
        ("not synced after its last byte", [*lines[:3], *lines[6:]]),
        ("before its bytes are synced", [*lines[:3], *lines[6:9], *lines[3:6], *lines[9:]]),
        ("folder .* is not synced", [*lines[:9], *lines[12:]]),
        ("no row is synced", [*lines[:12], *lines[15:]]),
        # The answer begins to go out while the row is still being synced.
        ("no row is synced", [*lines[:14], lines[15], lines[14], lines[16]]),
    ):
        with pytest.raises(AssertionError, match=what):
            assert_synced(before_answer(calls_of("".join(order)), 204), part, database)


@pytest.mark.parametrize("size_bytes", BODIES.values(), ids=BODIES)
def test_content_folder_and_row_are_synced_before_the_answer(server: Server, tmp_path: Path, size_bytes: int) -> None:
    client, recording = server.client(), crafted.Crafted(seed=9).padded(size_bytes)
    made: list[dict] = []
    calls = traced(server, lambda: made.append(client.push(recording)), tmp_path)
    sha256 = made[0]["sha256"]
    assert_synced(before_answer(calls, 201), server.data / "objects/content" / sha256[:2] / sha256, server.data / DATABASE)


@pytest.mark.parametrize("size_bytes", BODIES.values(), ids=BODIES)
def test_a_piece_is_synced_before_its_answer(server: Server, tmp_path: Path, size_bytes: int) -> None:
    client, recording = server.client(), crafted.Crafted(seed=9).padded(size_bytes)
    recording_id = client.begin()
    known: set[Path] = set()
    for at in range(0, len(recording), PIECE_BYTES):
        calls = traced(server, lambda: client.append(recording_id, at, recording[at : at + PIECE_BYTES]).expect(204), tmp_path)
        [part] = set((server.data / "objects/uploads" / recording_id).iterdir()) - known
        known.add(part)
        assert_synced(before_answer(calls, 204), part, server.data / DATABASE)
    calls = traced(server, lambda: client.seal(recording_id, recording).expect(200), tmp_path)
    sha256 = client.get(f"/api/recordings/{recording_id}").expect(200).json()["sha256"]
    assert_synced(before_answer(calls, 200), server.data / "objects/content" / sha256[:2] / sha256, server.data / DATABASE)


def failing_syncs(server: Server, path: Path) -> subprocess.Popen:
    """Until it is terminated no sync of that file is done, and the server hears of an error."""
    if shutil.which("strace") is None:
        pytest.skip("no strace (make prepare, as root)")
    calls = "fsync,fdatasync"
    command = ["strace", "-f", "-P", str(path), "-e", f"trace={calls}", "-e", f"inject={calls}:error=EIO", "-o", "/dev/null", "-p", str(server.process.pid)]
    tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    line = tracer.stderr.readline()
    if "attached" not in line:
        tracer.wait()
        pytest.skip(f"strace cannot attach here: {line.strip()}")
    return tracer


def test_a_part_whose_commit_failed_is_kept(server: Server, honest: bytes) -> None:
    """The row may be on the disk all the same: here it is written, and only its sync fails."""
    client = server.client()
    recording_id = client.begin()
    tracer = failing_syncs(server, server.data / f"{DATABASE}-wal")
    try:
        client.append(recording_id, 0, honest).expect(500)
        server.kill()
    finally:
        tracer.terminate()
        tracer.wait()
    client = server.start().client()
    assert client.offset(recording_id) == len(honest) and client.content(recording_id) == honest
    assert client.seal(recording_id, honest).expect(200).json()["bytes"] == len(honest)
    assert server.verb("check").returncode == 0


def begun(uploaders: list[Uploader]) -> int:
    return sum(len(one.sealed) + len(one.open) for one in uploaders)


def has_failed(running: list[concurrent.futures.Future]) -> bool:
    return any(one.done() and one.exception() for one in running)


def test_kill_9_in_the_middle_of_uploads(server: Server) -> None:
    uploaders: list[Uploader] = []
    for round_ in range(KILLS):
        stop = threading.Event()
        now = [Uploader(server.client(), round_ * 100 + number, stop) for number in range(UPLOADS)]
        uploaders += now
        with concurrent.futures.ThreadPoolExecutor(UPLOADS) as pool:
            running = [pool.submit(one.run) for one in now]
            # Killed once all are at work.
            assert until(lambda now=now, running=running, least=UPLOADS * (2 + round_): has_failed(running) or begun(now) >= least, 300)
            assert not has_failed(running)
            server.kill()
            stop.set()
        for one in running:
            one.result()
        server.start()
    assert sum(len(one.sealed) for one in uploaders) >= KILLS * UPLOADS
    check_nothing_lost(server.client(), uploaders)
    assert server.verb("check").returncode == 0


def read_all(client: Client, over: threading.Event, whole: list[str]) -> None:
    """Reads what is listed until the server is gone, and says of which recordings answers were whole."""
    while not over.is_set():
        try:
            listed = client.get("/api/recordings", query={"limit": "20"}).expect(200).json()["recordings"]
            for one in listed:
                if one["state"] == "sealed":
                    assert len(client.content(one["id"])) == one["bytes"], one
                    client.get(f"/api/recordings/{one['id']}/rows").expect(200)
                    whole.append(one["id"])
        except (OSError, http.client.HTTPException):
            return


@pytest.mark.measures
def test_kill_9_under_load(server: Server) -> None:
    """Uploads and reads at once, killed in the middle, and the same once more on what is there then."""
    uploaders: list[Uploader] = []
    for round_ in range(2):
        stop = threading.Event()
        now = [Uploader(server.client(), 1000 * (round_ + 1) + number, stop, LOADED_BYTES) for number in range(LOADED_UPLOADS)]
        uploaders += now
        whole: list[str] = []
        with concurrent.futures.ThreadPoolExecutor(LOADED_UPLOADS + READERS) as pool:
            running = [pool.submit(one.run) for one in now]
            reading = [pool.submit(read_all, server.client(), stop, whole) for _ in range(READERS)]
            while sum(len(one.sealed) for one in now) < LOADED_SEALS or len(whole) <= READERS:
                assert not any(one.done() for one in (*running, *reading)), [one.exception() for one in (*running, *reading) if one.done()]
                time.sleep(0.01)
            server.kill()
            stop.set()
        assert all(one.result() is None for one in (*running, *reading))
        server.start()
    check_nothing_lost(server.client(), uploaders)
    assert server.verb("check").returncode == 0


def in_a_small_disk(servers: Callable[..., Server]) -> Server:
    """A server in a mount namespace of its own, where the data folder is a file system of 64 MB."""
    probe = subprocess.run(["unshare", "-m", "true"], capture_output=True, text=True)
    if os.getuid() != 0 or probe.returncode != 0:
        pytest.skip(f"a small file system needs root and a mount namespace: {probe.stderr.strip() or 'not root'}")
    server = servers("small")
    server.data.mkdir()
    script = f'mount -t tmpfs -o size=64m genba-test "{server.data}" && exec "$@"'
    server.before = ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh"]
    return server.start()


def fill(client: Client, size_bytes: int, kept: dict[str, bytes]) -> Answer:
    """Whole recordings, until one is refused."""
    for seed in range(100_000):
        recording = crafted.Crafted(seed=seed).padded(size_bytes)
        answer = client.ask("POST", "/api/recordings", recording, query={"name": f"{size_bytes}-{seed}.genba"})
        if answer.status != 201:
            return answer.expect(507)
        kept[answer.json()["id"]] = recording
    raise AssertionError("the disk is never full")


def test_a_full_disk_loses_nothing(servers: Callable[..., Server], golden: bytes) -> None:
    server = in_a_small_disk(servers)
    client = server.client()
    kept: dict[str, bytes] = {}
    long = crafted.Crafted(seed=99).padded(20_000_000)
    open_id, end = client.begin("open.genba"), 0
    problem = fill(client, 4_000_000, kept).json()
    assert problem["status"] == 507 and problem["title"] and len(kept) >= 2
    fill(client, 1_000, kept)
    # What is left goes to an upload in pieces, down to the database's own room.
    while (answer := client.append(open_id, end, long[end : end + 50_000])).status == 204:
        end = answer.offset
    answer.expect(507)
    # Reading goes on, and nothing half-written is listed.
    assert {one["id"] for one in client.recordings()} == set(kept)
    for recording_id, recording in kept.items():
        assert client.content(recording_id) == recording
    assert client.offset(open_id) == end and client.content(open_id) == long[:end]
    # Room is made: the server goes on without a restart.
    large = [one for one, recording in kept.items() if len(recording) > 500_000][:2]
    for recording_id in large:
        client.ask("DELETE", f"/api/recordings/{recording_id}").expect(204)
        del kept[recording_id]
    assert client.append(open_id, end, long[end : end + 50_000]).expect(204).offset == end + 50_000
    kept[client.push(golden)["id"]] = golden
    for recording_id, recording in kept.items():
        assert client.content(recording_id) == recording
    # Where the server sees the small disk, nothing that was refused is left half-written.
    checked = server.verb("check", before=["nsenter", "-m", "-t", str(server.process.pid)])
    assert checked.returncode == 0, checked.stderr
    assert f"{len(kept):,} recordings, {len(kept):,} contents" in checked.stdout


def test_a_full_disk_keeps_nobody_from_reading(servers: Callable[..., Server], golden: bytes) -> None:
    """That a token was used, and a link opened, is noted where there is room."""
    server = in_a_small_disk(servers)
    inside = ["nsenter", "-m", "-t", str(server.process.pid)]
    made = server.client().push(golden)
    added = [server.verb("token", "add", scope, "--scope", scope, before=inside) for scope in ("admin", "read")]
    assert [one.returncode for one in added] == [0, 0], added
    admin, reader = (server.client(one.stdout.strip()) for one in added)
    link = admin.ask("POST", f"/api/recordings/{made['id']}/links", {"expires_ms": None, "needs_token": False, "fragment": ""}).expect(201).json()
    filled = subprocess.run([*inside, "dd", "if=/dev/zero", f"of={server.data}/filler", "bs=64k"], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    assert "No space left on device" in filled.stderr, filled.stderr
    admin.ask("POST", "/api/recordings", {"name": "app.genba"}).expect(507)
    assert [one["id"] for one in reader.recordings()] == [made["id"]] and reader.content(made["id"]) == golden
    server.client().get(f"{link['url']}/recording").expect(200)
    # The database itself had no room, again and again. With room it goes on, on each of its connections.
    for _ in range(10):
        admin.ask("POST", "/api/recordings", {"name": "app.genba"}).expect(507)
    subprocess.run([*inside, "rm", f"{server.data}/filler"], check=True)
    for _ in range(10):
        assert admin.push(golden)["bytes"] == len(golden)
