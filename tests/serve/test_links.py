"""Sharing: a link shows one recording and nothing else, until it expires or is revoked."""

import contextlib
import sqlite3
import time

from client import PROBLEM, Client
from served import Team


def link_to(client: Client, recording_id: str, *, expires_ms: int | None = None, needs_token: bool = False, fragment: str = "") -> dict:
    asked = {"expires_ms": expires_ms, "needs_token": needs_token, "fragment": fragment}
    return client.ask("POST", f"/api/recordings/{recording_id}/links", asked).expect(201).json()


def open_link(client: Client, link: dict):
    """As a browser: the redirect that adds the fragment is followed."""
    answer = client.get(link["url"])
    for _ in range(3):
        if answer.status != 303:
            break
        answer = client.get(answer.headers["Location"].partition("#")[0])
    return answer


def test_a_link_needs_no_login(team: Team, honest: bytes) -> None:
    made = team.lena.push(honest)
    link = link_to(team.lena, made["id"], fragment="#view=flame")
    assert (link["recording"], link["made_by"], link["opened"], link["revoked_ms"]) == (made["id"], "lena", 0, None)
    first = team.nobody.get(link["url"]).expect(200, 303)
    if first.status == 303:
        assert first.headers["Location"].endswith("#view=flame")
    page = open_link(team.nobody, link).expect(200)
    assert page.kind == "text/html" and page.headers["Cache-Control"] in ("no-store", "private, no-store")
    listed = team.lena.get(f"/api/recordings/{made['id']}/links").expect(200).json()["links"]
    assert [(one["code"], one["opened"] >= 1) for one in listed] == [(link["code"], True)]


def test_a_link_opens_nothing_else(team: Team, honest: bytes, golden: bytes) -> None:
    made, other = team.lena.push(honest), team.lena.push(golden)
    link = link_to(team.lena, made["id"])
    code = link["code"]
    assert made["id"] not in link["url"]
    asked = {"Authorization": f"Bearer {code}"}
    cookie = {"Cookie": f"genba_session={code}"}
    for path in ("/api/recordings", f"/api/recordings/{made['id']}", f"/api/recordings/{made['id']}/content", f"/api/recordings/{made['id']}/tree", f"/api/recordings/{made['id']}/links", f"/api/recordings/{code}", "/api/session", "/metrics"):
        for headers in ({}, asked, cookie):
            team.nobody.get(path, headers=headers).expect(401)
    for path in (f"/s/{made['id']}", f"/s/{code}/../{other['id']}", f"/s/{code}/content", f"/s/{code}%2f..%2f{other['id']}"):
        team.nobody.get(path).expect(404)
    assert open_link(team.nobody, link).headers["Set-Cookie"] is None


# crates/server/src/storage/links.rs
LINKS_MAX = 1_000


def test_links_to_a_recording_have_a_bound(team: Team, honest: bytes) -> None:
    """They are listed at once, and anybody may make one who may upload."""
    made, other = team.lena.push(honest), team.lena.push(honest)
    link = link_to(team.lena, made["id"])
    copy = "INSERT INTO links SELECT ?, recording, made_by, made_ms, expires_ms, revoked_ms, revoked_by, needs_token, fragment, opened FROM links WHERE code = ?"
    with contextlib.closing(sqlite3.connect(team.server.data / "genba.sqlite")) as database, database:
        database.executemany(copy, [(f"copy{number:08}", link["code"]) for number in range(LINKS_MAX - 1)])
    refused = team.lena.ask("POST", f"/api/recordings/{made['id']}/links", {"fragment": ""}).expect(409)
    assert refused.kind == PROBLEM and refused.json()["hint"]
    link_to(team.lena, other["id"])


def test_what_a_link_opens_at_has_a_bound_and_is_never_cut(team: Team, honest: bytes) -> None:
    route = f"/api/recordings/{team.lena.push(honest)['id']}/links"
    longest = "#view=tree&open=" + "x" * (2_000 - len("#view=tree&open="))
    link = team.lena.ask("POST", route, {"fragment": longest}).expect(201).json()
    assert team.nobody.get(link["url"]).expect(303).headers["Location"].endswith(longest)
    refused = team.lena.ask("POST", route, {"fragment": longest + "x"}).expect(400).json()
    assert "more than 2000 letters" in refused["title"] and "it has 2001" in refused["detail"] and refused["hint"]
    assert [one["fragment"] for one in team.lena.get(route).expect(200).json()["links"]] == [longest]


def test_whoever_opens_a_link_is_told_in_a_page_why_there_is_none_now(team: Team, honest: bytes) -> None:
    made = team.lena.push(honest)
    link = link_to(team.lena, made["id"])
    (team.server.data / "objects/content" / made["sha256"][:2] / made["sha256"]).unlink()
    page = open_link(team.nobody, link).expect(500)
    assert page.kind == "text/html" and b"lost or cut" in page.body
    (listed,) = team.lena.get(f"/api/recordings/{made['id']}/links").expect(200).json()["links"]
    assert listed["opened"] == 0


def test_codes_cannot_be_guessed(team: Team, honest: bytes) -> None:
    made = team.lena.push(honest)
    codes = [link_to(team.lena, made["id"])["code"] for _ in range(20)]
    # 128 bits in an alphabet of 64.
    assert len(set(codes)) == 20 and min(map(len, codes)) >= 16
    assert len({code[:4] for code in codes}) == 20
    team.nobody.get("/s/" + "A" * len(codes[0])).expect(404)


def test_a_revoked_link_says_so(team: Team, honest: bytes) -> None:
    made = team.lena.push(honest)
    link = link_to(team.lena, made["id"])
    team.sam.ask("DELETE", f"/api/links/{link['code']}").expect(403)
    open_link(team.nobody, link).expect(200)
    team.admin.ask("DELETE", f"/api/links/{link['code']}").expect(204)
    page = team.nobody.get(link["url"]).expect(410)
    assert page.kind == "text/html" and b"revoked" in page.body and b"app.py" not in page.body
    [listed] = team.lena.get(f"/api/recordings/{made['id']}/links").expect(200).json()["links"]
    assert listed["revoked_by"] == "admin" and listed["revoked_ms"] >= listed["made_ms"]


def test_an_owner_revokes_any_link_to_the_recording(team: Team, honest: bytes) -> None:
    made = team.lena.push(honest)
    link = link_to(team.admin, made["id"])
    assert team.sam.ask("DELETE", f"/api/links/{link['code']}").expect(403).json()["title"] == "this link is somebody else's"
    team.lena.ask("DELETE", f"/api/links/{link['code']}").expect(204)
    team.nobody.get(link["url"]).expect(410)


def test_an_expired_link_says_so(team: Team, honest: bytes) -> None:
    made = team.lena.push(honest)
    link = link_to(team.lena, made["id"], expires_ms=int(time.time() * 1000) + 1500)
    while (page := team.nobody.get(link["url"])).status in (200, 303):
        pass
    page.expect(410)
    assert page.kind == "text/html" and b"expired" in page.body


def test_a_link_for_those_with_a_token(team: Team, honest: bytes) -> None:
    made = team.lena.push(honest)
    link = link_to(team.lena, made["id"], needs_token=True)
    refused = team.nobody.get(link["url"]).expect(303, 401)
    assert refused.status == 401 or refused.headers["Location"].startswith("/login?next=")
    for client in (team.reader, team.sam, team.pusher):
        open_link(client, link).expect(200)


def test_a_deleted_recording_takes_its_links_along(team: Team, honest: bytes) -> None:
    made = team.lena.push(honest)
    link = link_to(team.lena, made["id"])
    team.lena.ask("DELETE", f"/api/recordings/{made['id']}").expect(204)
    team.nobody.get(link["url"]).expect(404, 410)
