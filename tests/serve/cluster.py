"""`make cluster`: three nodes of Garage with three copies of everything, PostgreSQL and two genba servers. While 50 uploads and some `genba push`
run, one server and one storage node are killed with -9, and come back only after recordings were sealed and read without them: nothing acknowledged
is lost, the lists agree, and reads go on.

Not part of `make test`: Garage takes long to build. `make soak` looks for tests in this file, too.
"""

import concurrent.futures
import hashlib
import http.client
import subprocess
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
from figures import Figure
from garage import Garage
from recording import binary
from served import Server, environment

pytestmark = pytest.mark.measures

UPLOADS = 50
EACH_BYTES, LARGE_BYTES = 4_000_000, 12_000_000
PIECE_BYTES = 1_000_000
PUSHES = 4
# Seals and reads while a server and a node are away.
MEANWHILE_MIN = 5
SECONDS_MAX = 900
AWAY = (OSError, http.client.HTTPException)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Garage]:
    assert garage.program().exists(), "no garage: make/prepare.sh garage"
    made = Garage(tmp_path / "garage")
    yield made
    made.end()


@dataclass
class Course:
    """Of the whole test. Whoever waits or tries again asks here whether there is still a reason to."""

    until: float = field(default_factory=lambda: time.monotonic() + SECONDS_MAX)
    killed: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def check(self, who: str) -> None:
        assert time.monotonic() < self.until and not self.over.is_set(), f"{who} is not done"

    def wait_for_the_kill(self, who: str) -> None:
        while not self.killed.wait(0.1):
            self.check(who)


@dataclass
class Patient:
    """Uploads one recording as `genba push` does: asks where to go on, at whichever server answers, until it is sealed."""

    course: Course
    clients: tuple[Client, ...]
    number: int
    id: str | None = None
    acknowledged: int = 0
    retries: int = 0
    sealed_at: float | None = None
    at_second: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        # Every fifth is put into the store in several parts, every second is live, and every fifth has its last piece left when the servers are killed.
        self.recording = crafted.Crafted(seed=self.number + 10).padded(LARGE_BYTES if self.number % 5 == 0 else EACH_BYTES)
        self.is_live = self.number % 2 == 1
        self.is_held = self.number % 5 == 1

    def ask(self, ask: Callable[[Client], Answer], *statuses: int) -> Answer:
        while True:
            self.course.check(f"upload {self.number}")
            try:
                answer = ask(self.clients[(self.number + self.retries) % len(self.clients)])
            except AWAY:
                answer = None
            if answer is not None and answer.status in statuses:
                return answer
            assert answer is None or answer.status == 503, f"{answer.status}: {answer.body[:300]!r}"
            self.retries += 1
            time.sleep(0.05)

    def run(self) -> str:
        asked = {"name": f"{self.number}.genba", "live": self.is_live}
        self.id = self.ask(lambda client: client.ask("POST", "/api/recordings", asked), 201).json()["id"]
        while self.acknowledged < len(self.recording):
            at = self.ask(lambda client: client.ask("HEAD", f"/api/recordings/{self.id}/content"), 200).offset
            assert at >= self.acknowledged, f"upload {self.number}: {self.acknowledged} bytes were acknowledged, {at} are there"
            if self.is_held and at + PIECE_BYTES >= len(self.recording):
                self.course.wait_for_the_kill(f"upload {self.number}")
            piece = self.recording[at : at + PIECE_BYTES]
            answer = self.ask(lambda client: client.append(self.id, at, piece), 204, 409)
            self.acknowledged = max(self.acknowledged, answer.offset)
            self.at_second.set()
        # The answer to a seal that was done may be lost: sealed is sealed.
        self.ask(lambda client: client.seal(self.id, self.recording), 200, 409)
        sealed = self.ask(lambda client: client.get(f"/api/recordings/{self.id}"), 200).json()
        assert (sealed["state"], sealed["sha256"]) == ("sealed", hashlib.sha256(self.recording).hexdigest())
        self.sealed_at = time.monotonic()
        return self.id


@dataclass
class Push:
    """The real `genba push` of a large recording to one of the servers, typed again until it succeeds."""

    course: Course
    server: Server
    number: int
    folder: Path
    tries: int = 0

    def __post_init__(self) -> None:
        self.recording = crafted.Crafted(seed=self.number + 1_000).padded(LARGE_BYTES)
        self.folder.mkdir()
        (self.folder / "app.genba").write_bytes(self.recording)

    def run(self) -> str:
        if self.number >= PUSHES // 2:
            self.course.wait_for_the_kill(f"push {self.number}")
        url = f"http://127.0.0.1:{self.server.port}"
        variables = environment({"XDG_CACHE_HOME": str(self.folder / "cache")})
        while True:
            self.course.check(f"push {self.number}")
            self.tries += 1
            command = [str(binary()), "push", "app.genba", url]
            done = subprocess.run(command, cwd=self.folder, env=variables, capture_output=True, text=True, timeout=SECONDS_MAX)
            if done.returncode == 0:
                return done.stdout.strip().removeprefix(f"{url}/r/")
            assert done.returncode == 1 and "error: app.genba was not pushed" in done.stderr, done.stderr
            time.sleep(1)


def test_a_server_and_a_storage_node_are_killed(servers: Callable[..., Server], store: Garage, tmp_path: Path, figure: Figure) -> None:
    database = Postgres()
    course = Course()
    try:
        places = ["--db", database.database("cluster"), "--store", f"s3://{garage.BUCKET}/recordings"]
        pair = [servers(name, places=places, secrets=store.secrets(node)).start() for node, name in enumerate(("one", "other"))]
        clients = tuple(server.client() for server in pair)
        first = clients[0].push(crafted.unique(1), "first.genba")
        uploads = [Patient(course, clients, number) for number in range(UPLOADS)]
        pushes = [Push(course, pair[number % 2], number, tmp_path / f"push-{number}") for number in range(PUSHES)]
        reads: list[float] = []

        def read() -> None:
            """At the server that lives on: each read is answered."""
            while not course.over.is_set():
                clients[1].get("/api/recordings").expect(200)
                assert clients[1].content(first["id"]) == crafted.unique(1)
                reads.append(time.monotonic())

        with concurrent.futures.ThreadPoolExecutor(UPLOADS + PUSHES + 1) as pool:
            try:
                reader = pool.submit(read)
                running = [pool.submit(one.run) for one in (*uploads, *pushes)]

                def check_running() -> None:
                    """What failed is told at once."""
                    course.check("the test")
                    for one in (*running, reader):
                        assert not one.done() or one.exception() is None, one.exception()

                for one in uploads[: UPLOADS // 2]:
                    while not one.at_second.wait(0.1):
                        check_running()
                pair[0].kill()
                # Neither server asks this node, but a third of all copies is gone with it.
                store.nodes[2].kill()
                killed_at = time.monotonic()
                course.killed.set()
                seals, answered = 0, 0
                while min(seals, answered) < MEANWHILE_MIN:
                    check_running()
                    time.sleep(0.1)
                    seals = sum(one.sealed_at is not None and one.sealed_at > killed_at for one in uploads)
                    answered = sum(at > killed_at for at in reads)
                away_s = time.monotonic() - killed_at
                store.nodes[2].start()
                pair[0].start()
                while not all(one.done() for one in running):
                    check_running()
                    time.sleep(0.1)
                sealed = [one.result() for one in running]
            finally:
                course.killed.set()
                course.over.set()
            reader.result(60)
        lists = [[(one["id"], one["sha256"], one["state"]) for one in client.recordings(sort="oldest")] for client in clients]
        assert lists[0] == lists[1]
        # An upload whose begin was not acknowledged may have left an empty one behind, never a sealed one.
        assert {one for one, _, state in lists[0] if state == "sealed"} == {first["id"], *sealed}
        for one, recording_id in zip((*uploads, *pushes), sealed, strict=True):
            assert clients[one.number % 2].content(recording_id) == one.recording
        assert pair[1].verb("check").returncode == 0
        figure("recordings sealed while a server and a storage node are away", seals, "recordings", bound=f"at least {MEANWHILE_MIN}")
        figure("reads answered meanwhile", answered, "reads", bound=f"at least {MEANWHILE_MIN}")
        figure("how long they are away", away_s, "s")
        figure("requests that were repeated", sum(one.retries for one in uploads), "requests")
        figure("pushes that were repeated", sum(one.tries for one in pushes) - PUSHES, "pushes")
        figure("acknowledged recordings that were lost", 0, f"of {1 + len(sealed)}", bound=0)
    finally:
        database.remove()
