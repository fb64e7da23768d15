"""Seeded nonsense in queries, bodies, headers and bytes on the wire: each request gets an answer below 500, and the server goes on."""

import errno
import random
import socket

import pytest

import crafted
from served import Team
from soak import SOAK

pytestmark = pytest.mark.measures

SEED = 20261124
REQUESTS = 20_000 if SOAK else 600
PIECES = ["", "0", "-1", "1e9", "9" * 40, "NaN", "true", "null", "%00", "%ff", "../", "'", '"', "<", "\u202e", "\U0001f600", "a b", "&", "=", "::", "cpu>", "cpu>2s", "wall<1m", "tag:", "since:30d", "since:-1d", "until:2026-13-45", "or", " or ", "host:*" * 20, "*" * 200, "(" * 50, '"open', "size>1MB", "x" * 900, "program:\\", "%", "_", "function:[", "who:;--"]
QUERIES = {
    "/api/recordings": ["q", "mine", "sort", "limit", "cursor"],
    "/api/recordings/{id}/tree": ["weight", "inverted", "min_share"],
    "/api/recordings/{id}/rows": ["by", "weight", "sort", "limit"],
    "/api/recordings/{id}/memory": ["from_ns", "to_ns", "bins", "process"],
    "/api/recordings/{id}": ["x"],
    "/login": ["next"],
}
# A mistyped name must not be answered as if it had not been asked.
UNKNOWN = {"/api/recordings": ["tag", "query"], "/api/recordings/{id}/tree": ["share"], "/api/recordings/{id}/rows": ["limits"], "/api/recordings/{id}/memory": ["from", "to"], "/api/recordings/{id}/difference/{id}": ["weight"]}


def nonsense(random_: random.Random) -> str:
    return "".join(random_.choice(PIECES) for _ in range(random_.randint(1, 4)))


def test_queries(module_team: Team, golden: bytes) -> None:
    random_ = random.Random(SEED)
    client = module_team.admin
    recording_id = client.push(golden)["id"]
    answers: dict[int, int] = {}
    for _ in range(REQUESTS):
        path, names = random_.choice(list(QUERIES.items()))
        query = [(random_.choice(names), nonsense(random_)) for _ in range(random_.randint(1, 3))]
        answer = client.get(path.format(id=recording_id), query=query)
        answers[answer.status] = answers.get(answer.status, 0) + 1
        assert answer.status in (200, 400, 404, 422), f"{path} {query}: {answer.status} {answer.body[:200]!r}"
    assert answers[200] > REQUESTS / 20 and answers[400] > REQUESTS / 20, answers
    for path, names in UNKNOWN.items():
        for name in names:
            refused = client.get(path.format(id=recording_id), query={name: "1"}).expect(400).json()
            assert name in refused["detail"], refused


def changed(random_: random.Random, data: bytes) -> bytes:
    """Bits flipped, a part cut out, doubled or replaced."""
    out = bytearray(data)
    for _ in range(random_.randint(1, 8)):
        at = random_.randrange(len(out))
        many = random_.choice([1, 1, 4, 64])
        match random_.randrange(4):
            case 0:
                out[at] ^= 1 << random_.randrange(8)
            case 1 if len(out) > 100:
                del out[at : at + many]
            case 2:
                out[at:at] = out[at : at + many]
            case _:
                out[at : at + many] = random_.randbytes(many)
    return bytes(out)


def test_recordings(module_team: Team, golden: bytes) -> None:
    random_ = random.Random(SEED)
    client = module_team.pusher
    honest = crafted.Crafted(samples=20).recording()
    for number in range(REQUESTS // 6):
        body = changed(random_, random_.choice([golden, honest]))
        answer = client.ask("POST", "/api/recordings", body, query={"name": f"{number}.genba"})
        assert answer.status in (201, 422), f"{number}: {answer.status} {answer.body[:300]!r}"
        if answer.status == 201:
            made = answer.json()
            assert made["bytes"] == len(body)
            view = random_.choice(["tree", "rows?by=line", "memory?bins=7"])
            module_team.reader.get(f"/api/recordings/{made['id']}/{view}").expect(200, 409, 422)


def test_parameters_of_an_upload(module_team: Team) -> None:
    random_ = random.Random(SEED)
    client = module_team.pusher
    recording = crafted.Crafted(samples=20).recording()
    answers: dict[int, int] = {}
    for _ in range(REQUESTS // 6):
        query = [(random_.choice(["name", "host", "tag", "x"]), nonsense(random_)) for _ in range(random_.randint(1, 3))]
        answer = client.ask("POST", "/api/recordings", recording, query=query)
        answers[answer.status] = answers.get(answer.status, 0) + 1
        assert answer.status in (201, 400), f"{query}: {answer.status} {answer.body[:300]!r}"
        assert answer.status == 400 or "x" not in dict(query), query
        names = [value for key, value in query if key == "name"]
        if answer.status == 201 and names:
            assert answer.json()["name"] == names[-1]
    assert set(answers) == {201, 400}, answers


def test_json(module_team: Team) -> None:
    random_ = random.Random(SEED)
    client = module_team.admin
    values = [None, True, 0, -1, 1.5, 10**30, "", "x", "x" * 300, [], [[]], {}, {"a": 1}, ["read"], ["read", "read"], ["root"], "read", "\ud83d", "\x00", "2026", [None]]
    names = ["name", "host", "tags", "live", "scopes", "expires_ms", "needs_token", "fragment", "keep_days", "bytes", "sha256", "token", "x", "__proto__"]
    open_id = client.begin()
    paths = [("POST", "/api/recordings"), ("PATCH", f"/api/recordings/{open_id}"), ("POST", f"/api/recordings/{open_id}/links"), ("POST", f"/api/recordings/{open_id}/seal"), ("POST", "/api/tokens"), ("PATCH", "/api/settings")]
    for _ in range(REQUESTS // 2):
        method, path = random_.choice(paths)
        body = {random_.choice(names): random_.choice(values) for _ in range(random_.randint(0, 4))}
        answer = client.ask(method, path, body)
        assert answer.status in (200, 201, 400, 409, 422), f"{method} {path} {body}: {answer.status} {answer.body[:200]!r}"


@pytest.mark.parametrize("number", range(4))
def test_bytes_on_the_wire(module_team: Team, number: int) -> None:
    random_ = random.Random(SEED + number)
    whole = f"POST /api/recordings?name=a HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {module_team.tokens['lena']}\r\nContent-Type: application/octet-stream\r\nContent-Length: 10\r\n\r\n0123456789".encode()
    for _ in range(REQUESTS // 20):
        with socket.create_connection(("127.0.0.1", module_team.server.port), timeout=60) as one:
            try:
                one.sendall(changed(random_, whole))
                one.shutdown(socket.SHUT_WR)
                answer = b"".join(iter(lambda: one.recv(65536), b""))
            except TimeoutError:
                raise AssertionError("no answer, and no end") from None
            except OSError as error:
                # It closed the connection before it had read all of it.
                assert error.errno in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN), error
                continue
        assert not answer or not answer.startswith(b"HTTP/1.1 5"), answer[:200]
    module_team.nobody.get("/health").expect(200)
