"""`make cluster`: three nodes of Garage with three copies of everything, PostgreSQL and two genba servers. While 50 uploads run, one server and
one storage node are killed with -9 and brought back: nothing acknowledged is lost, the lists agree, and reads go on.

Not part of `make test`: Garage takes long to build.
"""

import concurrent.futures
import hashlib
import http.client
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import crafted
import garage
from client import Answer, Client
from engines import Postgres
from garage import Garage
from served import Server

UPLOADS = 50
EACH_BYTES = 4_000_000
PIECE_BYTES = 1_000_000
SECONDS_MAX = 600
AWAY = (OSError, http.client.HTTPException)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Garage]:
    assert garage.program().exists(), "no garage: make/prepare.sh garage"
    made = Garage(tmp_path / "garage")
    yield made
    made.end()


@dataclass
class Patient:
    """Uploads one recording as `genba push` does: asks where to go on, at whichever server answers, until it is sealed."""

    clients: tuple[Client, ...]
    number: int
    recording: bytes
    until: float
    id: str | None = None
    acknowledged: int = 0
    retries: int = 0
    at_second: threading.Event = field(default_factory=threading.Event)

    def ask(self, ask: Callable[[Client], Answer], *statuses: int) -> Answer:
        while True:
            assert time.monotonic() < self.until, f"upload {self.number} is not done"
            try:
                answer = ask(self.clients[(self.number + self.retries) % len(self.clients)])
            except AWAY:
                answer = None
            if answer is not None and answer.status in statuses:
                return answer
            assert answer is None or answer.status == 503, f"{answer.status}: {answer.body[:300]!r}"
            self.retries += 1
            time.sleep(0.05)

    def run(self) -> dict:
        name = f"{self.number}.genba"
        self.id = self.ask(lambda client: client.ask("POST", "/api/recordings", {"name": name}), 201).json()["id"]
        while self.acknowledged < len(self.recording):
            at = self.ask(lambda client: client.ask("HEAD", f"/api/recordings/{self.id}/content"), 200).offset
            assert at >= self.acknowledged, f"upload {self.number}: {self.acknowledged} bytes were acknowledged, {at} are there"
            piece = self.recording[at : at + PIECE_BYTES]
            answer = self.ask(lambda client: client.append(self.id, at, piece), 204, 409)
            self.acknowledged = max(self.acknowledged, answer.offset)
            self.at_second.set()
        # The answer to a seal that was done may be lost: sealed is sealed.
        self.ask(lambda client: client.seal(self.id, self.recording), 200, 409)
        sealed = self.ask(lambda client: client.get(f"/api/recordings/{self.id}"), 200).json()
        assert (sealed["state"], sealed["sha256"]) == ("sealed", hashlib.sha256(self.recording).hexdigest())
        return sealed


def test_a_server_and_a_storage_node_are_killed(servers: Callable[..., Server], store: Garage, tmp_path: Path) -> None:
    database = Postgres(tmp_path / "postgres")
    try:
        places = ["--db", database.database("cluster"), "--store", f"s3://{garage.BUCKET}/recordings"]
        pair = [servers(name, places=places, secrets=store.secrets(node)).start() for node, name in enumerate(("one", "other"))]
        clients = tuple(server.client() for server in pair)
        first = clients[0].push(crafted.unique(1), "first.genba")
        until = time.monotonic() + SECONDS_MAX
        uploads = [Patient(clients, number, crafted.Crafted(seed=number + 10).padded(EACH_BYTES), until) for number in range(UPLOADS)]
        done, reads = threading.Event(), []

        def read() -> None:
            """At the server that lives on: each read is answered."""
            while not done.is_set():
                clients[1].get("/api/recordings").expect(200)
                assert clients[1].content(first["id"]) == crafted.unique(1)
                reads.append(time.monotonic())

        with concurrent.futures.ThreadPoolExecutor(UPLOADS + 1) as pool:
            reader = pool.submit(read)
            running = [pool.submit(one.run) for one in uploads]
            for one in uploads[: UPLOADS // 2]:
                assert one.at_second.wait(SECONDS_MAX)
            pair[0].kill()
            # Neither server asks this node, but a third of all copies is gone with it.
            store.nodes[2].kill()
            killed_at = time.monotonic()
            concurrent.futures.wait(running[:5], timeout=SECONDS_MAX, return_when=concurrent.futures.FIRST_COMPLETED)
            store.nodes[2].start()
            pair[0].start()
            sealed = [one.result(SECONDS_MAX) for one in running]
            done.set()
            reader.result(60)
        assert len([at for at in reads if at > killed_at]) > 5
        lists = [[(one["id"], one["sha256"], one["state"]) for one in client.recordings(sort="oldest")] for client in clients]
        assert lists[0] == lists[1]
        # An upload whose begin was not acknowledged may have left an empty one behind, never a sealed one.
        assert {one for one, _, state in lists[0] if state == "sealed"} == {first["id"], *(one["id"] for one in sealed)}
        for one in uploads:
            assert clients[one.number % 2].content(one.id) == one.recording
        assert pair[1].verb("check").returncode == 0
        print(f"{sum(one.retries for one in uploads)} requests were repeated, {len(reads)} reads were answered")
    finally:
        database.end()
