"""What protects whoever uses a browser: cookies, requests that other sites' pages send, frames, names that point at loopback, and guessing."""

import http.client
import time

import pytest

from client import PROBLEM, Answer, Client
from routes import ROUTES
from served import Server, Team

# Pages and answers alike.
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
GUESSES_MAX = 200


def log_in(client: Client, token: str) -> Answer:
    return client.ask("POST", "/api/session", {"token": token})


def cookie_of(answer: Answer) -> str:
    return answer.expect(204).headers["Set-Cookie"].partition(";")[0]


def test_a_browser_logs_in_with_a_token(team: Team, honest: bytes) -> None:
    made = team.lena.push(honest)
    answer = log_in(team.nobody, team.tokens["lena"])
    flags = {word.strip().lower() for word in answer.expect(204).headers["Set-Cookie"].split(";")[1:]}
    # Lax: a link to a recording in a chat opens it; what changes something asks for this server's own origin as well.
    assert {"httponly", "path=/", "samesite=lax"} <= flags and not any(flag.startswith("domain") for flag in flags)
    # As the description of the interface has it.
    assert '"genba_session, HttpOnly, SameSite=Lax, Path=/"' in team.nobody.get("/api/openapi.yaml").expect(200).body.decode()
    cookie = cookie_of(answer)
    assert cookie.startswith("genba_session=") and team.tokens["lena"] not in cookie
    asked = {"Cookie": f"other=1; {cookie}"}
    assert team.nobody.get("/api/session", headers=asked).expect(200).json() == {"name": "lena", "scopes": ["read", "write"], "login": True}
    assert team.nobody.get(made["url"], headers=asked).expect(200).kind == "text/html"
    gone = team.nobody.ask("DELETE", "/api/session", headers=asked).expect(204)
    assert "max-age=0" in gone.headers["Set-Cookie"].lower() or "expires=thu, 01 jan 1970" in gone.headers["Set-Cookie"].lower()
    team.nobody.get("/api/session", headers=asked).expect(401)
    again = team.nobody.get(made["url"]).expect(303)
    assert again.headers["Location"] == "/login?next=" + made["url"].replace("/", "%2F")


def test_behind_a_proxy_that_ends_tls_the_cookie_is_for_tls_only(team: Team) -> None:
    client, body = team.nobody, {"token": team.tokens["lena"]}
    tls, plain = {"X-Forwarded-Proto": "https"}, {"X-Forwarded-Proto": "http"}
    # Firefox and Chromium name the page's own origin, too; curl does not.
    own = {"Host": "genba.example", "Origin": "https://genba.example"}
    for headers, is_secure in ((tls, True), ({**tls, **own}, True), (own, True), (plain, False), ({}, False)):
        made = client.ask("POST", "/api/session", body, headers=headers)
        kept = {"Cookie": cookie_of(made)}
        gone = client.ask("DELETE", "/api/session", headers={**headers, **kept})
        for answer in (made, gone):
            flags = {word.strip().lower() for word in answer.expect(204).headers["Set-Cookie"].split(";")[1:]}
            assert ("secure" in flags, "httponly" in flags) == (is_secure, True), (headers, flags)
        client.get("/api/session", headers=kept).expect(401)


@pytest.mark.parametrize("end", ["revoke", "rotate", "expiry"])
def test_a_session_ends_with_its_token(team: Team, end: str) -> None:
    token = team.server.add_token("guest", "read", expires="2s" if end == "expiry" else "1y")
    cookie = {"Cookie": cookie_of(log_in(team.nobody, token))}
    other = {"Cookie": cookie_of(log_in(team.nobody, team.tokens["lena"]))}
    if end != "expiry":
        team.nobody.get("/api/session", headers=cookie).expect(200)
        team.server.said("token", end, "guest")
    while end == "expiry" and team.nobody.get("/api/session", headers=cookie).expect(200, 401).status == 200:
        pass
    team.nobody.get("/api/session", headers=cookie).expect(401)
    team.nobody.get("/api/session", headers=other).expect(200)


def test_a_session_outlives_a_restart(team: Team) -> None:
    cookie = {"Cookie": cookie_of(log_in(team.nobody, team.tokens["lena"]))}
    assert team.server.stop() == 0
    team.server.start()
    team.nobody.get("/api/session", headers=cookie).expect(200)


@pytest.mark.parametrize("login", [True, False], ids=["with-a-session", "without-login"])
def test_other_sites_change_nothing(team: Team, servers, honest: bytes, login: bool) -> None:
    if login:
        client, kept = team.nobody, {"Cookie": cookie_of(log_in(team.nobody, team.tokens["admin"]))}
    else:
        client, kept = servers("open").start().client(), {}
    own = f"http://127.0.0.1:{client.port}"
    unsafe = [
        ("POST", "/api/recordings", {"name": "app.genba"}),
        ("PATCH", "/api/settings", {"keep_days": 1}),
        ("POST", "/api/tokens", {"name": "evil", "scopes": ["admin"], "expires_ms": None}),
        ("DELETE", "/api/tokens/lena", None),
        ("POST", "/api/session", {"token": "x"}),
        ("DELETE", "/api/session", None),
    ]
    others = [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://127.0.0.1:{client.port + 1}"},
        {"Origin": f"{own}.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": own},
    ]
    for method, path, body in unsafe:
        for headers in others:
            answer = client.ask(method, path, body, headers={**kept, **headers})
            assert (answer.status, answer.kind) == (403, PROBLEM), f"{method} {path} {headers}: {answer.status}"
            assert "Access-Control-Allow-Origin" not in answer.headers
    # A form of another site can only send these types, and the third that curl uses; the origin stops all of them, and these are none of an upload's.
    for kind in ("text/plain", "multipart/form-data; boundary=x"):
        client.ask("POST", "/api/recordings", honest, kind=kind, headers=kept).expect(415)
    assert client.ask("OPTIONS", "/api/recordings", headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}).headers["Access-Control-Allow-Origin"] is None
    assert client.recordings() == [] if not login else team.reader.recordings() == []
    for fine in ({}, {"Origin": own}, {"Origin": own, "Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        client.ask("POST", "/api/recordings", {"name": "app.genba"}, headers={**kept, **fine}).expect(201)


def test_names_that_point_at_loopback_are_refused(server: Server, honest: bytes) -> None:
    client = server.client()
    made = client.push(honest)
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", "localhost.evil.example", "0.0.0.0", "192.168.1.9", ""):
        for path in ("/api", "/api/recordings", f"/api/recordings/{made['id']}", made["url"], "/", "/metrics"):
            answer = client.get(path, headers={"Host": host})
            assert answer.status in ((400, 421) if host == "" else (421,)), f"{host} {path}: {answer.status}"
    for host in (f"127.0.0.1:{server.port}", "localhost", f"localhost:{server.port}", "LOCALHOST", f"[::1]:{server.port}", "[::1]", f"127.0.0.2:{server.port}"):
        client.get("/api/recordings", headers={"Host": host}).expect(200)


def test_a_server_on_another_address_of_loopback_answers_to_it(servers) -> None:
    server = servers().start("127.0.0.2:0")
    connection = http.client.HTTPConnection("127.0.0.2", server.port, timeout=60)
    connection.request("POST", "/api/recordings", '{"name": "app.genba"}', {"Content-Type": "application/json", "Origin": f"http://127.0.0.2:{server.port}"})
    assert connection.getresponse().status == 201
    connection.close()


def test_no_frame_no_guessing_of_types_no_store(team: Team, honest: bytes) -> None:
    made = team.lena.push(honest)
    link = team.lena.ask("POST", f"/api/recordings/{made['id']}/links", {"expires_ms": None, "needs_token": False, "fragment": ""}).expect(201).json()
    values = {"id": made["id"], "before": made["id"], "after": made["id"], "open": made["id"], "code": link["code"], "name": "x"}
    paths = {route.path.format(**values) for route in ROUTES if route.method == "GET" and not route.path.endswith("events")}
    for client in (team.admin, team.nobody):
        for path in sorted(paths | {"/no-such-page", "/api/no-such-route", "/s/unknown-code"}):
            answer = client.get(path)
            assert {name: answer.headers[name] for name in HEADERS} == HEADERS, path
            policy = dict.fromkeys(answer.headers["Content-Security-Policy"].split("; "))
            assert "frame-ancestors 'none'" in policy and any(one.startswith("default-src 'none'") for one in policy), (path, policy)
            assert not any("unsafe-eval" in one or "*" in one or "http:" in one for one in policy), (path, policy)
            script = next((one for one in policy if one.startswith("script-src")), "")
            assert "'unsafe-inline'" not in script, (path, policy)
            if path.startswith("/api"):
                assert answer.headers["Cache-Control"] == "no-store", path
            assert "Server" not in answer.headers or "/" not in answer.headers["Server"]


def test_a_download_is_a_download(team: Team, honest: bytes) -> None:
    name = 'ein "Name"; filename=evil.html, ü.genba'
    made = team.lena.push(honest, name)
    answer = team.reader.get(f"/api/recordings/{made['id']}/content").expect(200)
    assert answer.kind == "application/octet-stream"
    assert answer.headers["Content-Disposition"].startswith("attachment") and "evil.html," not in answer.headers["Content-Disposition"].partition("filename*")[0].replace('\\"', "").split('"')[-1]


def test_guessing_is_limited_and_who_knows_is_not(team: Team) -> None:
    guess = lambda number: team.nobody.with_token(f"genba_{number:043}")
    for ask in (lambda n: guess(n).get("/api/recordings"), lambda n: log_in(team.nobody, f"genba_{n:043}")):
        for number in range(GUESSES_MAX):
            answer = ask(number).expect(401, 429)
            if answer.status == 429:
                break
        assert answer.status == 429, f"{GUESSES_MAX} guesses and no end"
        assert int(answer.headers["Retry-After"]) >= 1 and answer.kind == PROBLEM
    team.lena.get("/api/recordings").expect(200)


def test_a_slow_request_holds_nobody_up(team: Team, honest: bytes) -> None:
    """Many connections that say nothing, and some that stop half way."""
    idle = [http.client.HTTPConnection("127.0.0.1", team.server.port, timeout=60) for _ in range(200)]
    for number, connection in enumerate(idle):
        connection.connect()
        if number % 2:
            connection.sock.sendall(b"POST /api/recordings?name=slow.genba HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nhalf")
    before = time.monotonic()
    team.lena.push(honest)
    assert time.monotonic() - before < 30
    for connection in idle:
        connection.close()
