"""Who may do what: every route with no token, a wrong one, and one of each kind; other people's recordings; tokens and what is left of them."""

from dataclasses import dataclass, replace

import pytest

from client import PROBLEM, Answer, Client
from routes import ROUTES, Route, anonymous, described
from served import Team

WRONG = "genba_" + "x" * 43
# The statuses that say no.
NO = {401, 403}
# What each wants, and which tokens have it; lena owns the recording, sam has the same scopes. An owner who only uploads is in tests of their own.
MAY = {
    "nothing": {"nobody", "wrong", "reader", "pusher", "lena", "sam", "admin"},
    "any": {"reader", "pusher", "lena", "sam", "admin"},
    "read": {"reader", "lena", "sam", "admin"},
    "write": {"pusher", "lena", "sam", "admin"},
    "owner": {"lena", "admin"},
    "admin": {"admin"},
}


@dataclass
class Tried:
    team: Team
    values: dict[str, str]
    wrong: int = 0

    @classmethod
    def of(cls, team: Team, honest: bytes, golden: bytes) -> "Tried":
        lena = team.lena
        one, other = lena.push(honest)["id"], lena.push(golden)["id"]
        code = lena.ask("POST", f"/api/recordings/{one}/links", {"expires_ms": None, "needs_token": False, "fragment": ""}).expect(201).json()["code"]
        team.server.add_token("spare", "read")
        return cls(team, {"id": one, "before": one, "after": other, "open": lena.begin(), "code": code, "name": "spare"})

    def ask(self, client: Client, route: Route) -> Answer:
        body = {"token": self.team.tokens["reader"]} if route.body == {"token": "{token}"} else route.body
        return client.ask(route.method, route.path.format(**self.values), body, headers=dict(route.headers))

    def client(self, who: str) -> Client:
        """Wrong tokens come from an address each: one that sends several has to wait (test_browsers.py)."""
        self.wrong += who == "wrong"
        wrong = replace(self.team.nobody.with_token(WRONG), source=f"127.0.9.{self.wrong}")
        return {"nobody": self.team.nobody, "wrong": wrong}.get(who) or self.team.client(who)


def test_the_table_has_every_route() -> None:
    assert sorted(anonymous(route.name) for route in ROUTES) == sorted(described())


@pytest.fixture(scope="module")
def tried(module_team: Team, honest: bytes, golden: bytes) -> Tried:
    return Tried.of(module_team, honest, golden)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_who_lacks_it_is_refused(tried: Tried, route: Route) -> None:
    """Nothing changes: what is refused is asked of the same recordings, route after route."""
    for who in ("nobody", "wrong", "reader", "pusher", "sam"):
        if who in MAY[route.wants]:
            continue
        answer = tried.ask(tried.client(who), route)
        is_page = route.path.startswith(("/r/", "/compare/"))
        if who in ("nobody", "wrong"):
            assert answer.status == 401 or (is_page and answer.status == 303), f"{who}: {answer.status} {answer.body[:200]!r}"
        else:
            # Who may not read does not learn whether there is such a recording, and an upload is its owner's until it is sealed.
            is_hidden = who == "pusher" or "{open}" in route.path
            assert answer.status in (NO | {404} if is_hidden else {403}), f"{who}: {answer.status} {answer.body[:200]!r}"
        if answer.status == 303:
            assert answer.headers["Location"].startswith("/login?next=%2F")
        elif route.method != "HEAD" and not is_page:
            assert answer.kind == PROBLEM and answer.json()["status"] == answer.status
        assert answer.headers["Set-Cookie"] is None


@pytest.mark.parametrize("who", ["lena", "admin", "reader", "pusher", "sam"])
def test_who_has_it_is_answered(team: Team, honest: bytes, golden: bytes, who: str) -> None:
    tried = Tried.of(team, honest, golden)
    for route in ROUTES:
        if who in MAY[route.wants]:
            answer = tried.ask(tried.client(who), route)
            assert answer.status == route.ok, f"{route.name}: {answer.status} {answer.body[:300]!r}"


def test_a_token_that_only_uploads_sees_its_own(team: Team, honest: bytes, golden: bytes) -> None:
    others = team.lena.push(honest)
    own = team.pusher.push_in_pieces(golden, 512)
    assert [one["id"] for one in team.pusher.recordings()] == [own["id"]]
    assert team.pusher.get(f"/api/recordings/{own['id']}").expect(200).json()["name"] == own["name"]
    team.pusher.get(f"/api/recordings/{others['id']}").expect(404)
    assert {one["id"] for one in team.lena.recordings(mine="true")} == {others["id"]}
    assert {one["id"] for one in team.reader.recordings()} == {own["id"], others["id"]}
    assert team.sam.get(f"/api/recordings/{others['id']}").json()["may"] == {"change": False}
    # It lists the links that it may make and revoke. What is in a recording is for those who may read.
    links = f"/api/recordings/{own['id']}/links"
    code = team.pusher.ask("POST", links, {"fragment": ""}).expect(201).json()["code"]
    assert [link["code"] for link in team.pusher.get(links).expect(200).json()["links"]] == [code]
    assert team.reader.get(links).expect(200).json()["links"] == []
    team.pusher.get(f"/api/recordings/{others['id']}/links").expect(404)
    team.pusher.get(own["url"]).expect(403)
    # Numbers beside the list are of the same recordings.
    team.lena.begin("live.genba", live=True)
    counts = lambda client: [client.get("/api/recordings").expect(200).json()[name] for name in ("matched", "all", "all_bytes", "live")]
    assert counts(team.pusher) == [1, 1, len(golden), 0]
    assert counts(team.reader) == [3, 3, len(golden) + len(honest), 1]


def test_what_a_page_says_of_itself_needs_no_token_and_holds_no_data(team: Team, honest: bytes) -> None:
    team.lena.push(honest, "secret-name.genba")
    for path in ("/", "/tokens", "/settings", "/login", "/api", "/health"):
        assert b"secret-name" not in team.nobody.get(path).expect(200).body


def test_tokens_from_the_command_line(team: Team) -> None:
    server = team.server
    assert server.verb("token", "add", "lena").returncode == 1
    listed = server.said("token", "list")
    assert all(name in listed for name in team.tokens) and not any(token in listed for token in team.tokens.values())
    rotated = server.said("token", "rotate", "sam").strip()
    team.sam.get("/api/session").expect(401)
    assert server.client(rotated).get("/api/session").expect(200).json() == {"name": "sam", "scopes": ["read", "write"], "login": True}
    server.said("token", "revoke", "sam")
    server.client(rotated).get("/api/session").expect(401)
    assert server.verb("token", "revoke", "no-such-token").returncode == 1
    for age in ("0d", "4294967295d"):
        done = server.verb("token", "add", "ci", "--expires", age)
        assert (done.returncode, done.stdout) == (2, "") and "hint: --expires 90d" in done.stderr, (age, done.stderr)
    server.add_token("ci", "read", expires="1d")


def test_tokens_over_the_network(team: Team) -> None:
    asked = {"name": "ci-orders", "scopes": ["read", "write"], "expires_ms": None}
    made = team.admin.ask("POST", "/api/tokens", asked).expect(201).json()
    assert made["token"].startswith("genba_")
    client = team.server.client(made["token"])
    assert client.get("/api/session").expect(200).json()["scopes"] == ["read", "write"]
    team.admin.ask("POST", "/api/tokens", asked).expect(409)
    rotated = team.admin.ask("POST", "/api/tokens/ci-orders/rotate").expect(200).json()["token"]
    client.get("/api/session").expect(401)
    client = team.server.client(rotated)
    client.get("/api/session").expect(200)
    team.admin.ask("DELETE", "/api/tokens/ci-orders").expect(204)
    client.get("/api/session").expect(401)
    listed = {one["name"]: one for one in team.admin.get("/api/tokens").expect(200).json()["tokens"]}
    assert listed["ci-orders"]["revoked_ms"] and listed["lena"]["revoked_ms"] is None and listed["admin"]["used_ms"]
    assert all("token" not in one for one in listed.values())


def test_a_token_expires(team: Team) -> None:
    gone = team.server.add_token("short", "read", expires="1s")
    client = team.server.client(gone)
    # It may have expired by now; it must have at some time.
    while client.get("/api/session").expect(200, 401).status == 200:
        pass


def test_only_hashes_of_tokens_are_kept(team: Team, honest: bytes) -> None:
    team.lena.push(honest)
    cookie = team.nobody.ask("POST", "/api/session", {"token": team.tokens["lena"]}).expect(204).headers["Set-Cookie"]
    session = cookie.partition("=")[2].partition(";")[0]
    team.lena.get("/api/session").expect(200)
    secrets = [*team.tokens.values(), session]
    secrets += [token.removeprefix("genba_") for token in team.tokens.values()]
    kept = {path: path.read_bytes() for path in team.server.folder.rglob("*") if path.is_file()}
    assert any(path.name.startswith("stderr-") for path in kept) and len(kept) > 2
    assert [(path.name, secret[:10]) for path, data in kept.items() for secret in secrets if secret.encode() in data] == []
    assert team.server.data.stat().st_mode & 0o077 == 0, "others may look into the data folder"
