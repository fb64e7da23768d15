"""A recording that grows is followed by server-sent events while it is uploaded."""

import pytest

from crafted import Crafted
from served import Server, Team
from visitors import Openings, until

# Of each token.
FOLLOWERS = 10


def test_a_live_recording_is_followed(server: Server, golden: bytes, honest: bytes) -> None:
    client = server.client()
    recording_id = client.begin("live.genba", live=True)
    assert client.get(f"/api/recordings/{recording_id}").expect(200).json()["live"]
    assert client.get("/api/recordings").expect(200).json()["live"] == 1
    # Whoever opens it before its first bytes sees it once they are there.
    assert client.get(f"/r/{recording_id}").expect(409).headers["Refresh"] == "1"
    client.append(recording_id, 0, honest).expect(204)
    events = client.events(recording_id)
    seen = []
    whole = honest
    for name, told in events:
        seen.append(name)
        if name == "grown" and told["bytes"] == len(whole) == len(honest):
            assert told["facts"] is None or told["facts"]["samples"] == 300
            whole = honest + golden
            client.append(recording_id, len(honest), golden).expect(204)
        elif name == "grown" and told["bytes"] == len(honest) + len(golden):
            client.seal(recording_id, whole).expect(200)
        elif name == "sealed":
            break
    assert seen[-1] == "sealed" and seen.count("grown") >= 2
    assert [name for name, _ in client.events(recording_id)] == ["sealed"]
    assert not client.get(f"/api/recordings/{recording_id}").expect(200).json()["live"]


def test_all_who_follow_are_told_the_same(team: Team, golden: bytes, honest: bytes) -> None:
    """They share the server's looks: each of them hears of each stretch, and of the end, whoever came first."""
    recording_id, whole = team.lena.begin(live=True), honest + golden
    team.lena.append(recording_id, 0, honest).expect(204)
    streams = [client.events(recording_id) for client in (team.lena, team.reader) for _ in range(FOLLOWERS)]
    assert {next(events)[0] for events in streams} == {"grown"}
    team.lena.append(recording_id, len(honest), golden).expect(204)
    # The last one to ask is the first to be heard: it may not be the one for whom the server looked.
    for events in reversed(streams):
        assert any(name == "grown" and told["bytes"] == len(whole) for name, told in events)
    team.lena.seal(recording_id, whole).expect(200)
    for events in streams:
        told = list(events)
        assert told[-1][0] == "sealed" and {one["bytes"] for _, one in told} == {len(whole)}


def test_a_deleted_recording_is_gone_for_who_follows(server: Server, honest: bytes) -> None:
    client = server.client()
    recording_id = client.begin(live=True)
    client.append(recording_id, 0, honest).expect(204)
    deleted = False
    seen = []
    for name, _ in client.events(recording_id):
        seen.append(name)
        if not deleted:
            client.ask("DELETE", f"/api/recordings/{recording_id}").expect(204)
            deleted = True
    assert seen[-1] == "gone"


def test_views_of_a_live_recording_show_what_was_acknowledged(server: Server, honest: bytes, golden: bytes) -> None:
    client = server.client()
    recording_id = client.begin(live=True)
    route = f"/api/recordings/{recording_id}"
    client.get(f"{route}/tree").expect(409, 422)
    client.append(recording_id, 0, honest + golden[:300]).expect(204)
    assert client.get(f"{route}/tree").expect(200).json()["samples"] == 300
    assert client.get(f"/r/{recording_id}").expect(200).kind == "text/html"


def test_each_part_of_a_live_recording_is_opened_once(server: Server, honest: bytes, golden: bytes) -> None:
    """However often it is read while it grows."""
    client = server.client()
    recording_id, end = client.begin(live=True), len(honest)
    tree = f"/api/recordings/{recording_id}/tree"
    client.append(recording_id, 0, honest).expect(204)
    client.get(tree).expect(200)
    [part] = (server.data / "objects/uploads" / recording_id).iterdir()
    openings = Openings([part])
    for piece in (golden[:600], golden[600:]):
        end = client.append(recording_id, end, piece).expect(204).offset
        client.get(tree).expect(200)
    assert openings.so_far() == []
    assert client.content(recording_id) == honest + golden


@pytest.mark.parametrize("end", ["revoke", "rotate", "log-out"])
def test_who_may_no_longer_read_follows_no_further(team: Team, honest: bytes, golden: bytes, end: str) -> None:
    recording_id = team.lena.begin(live=True)
    team.lena.append(recording_id, 0, honest).expect(204)
    if end == "log-out":
        session = team.nobody.ask("POST", "/api/session", {"token": team.tokens["reader"]}).expect(204).headers["Set-Cookie"].partition(";")[0]
        events = team.nobody.events(recording_id, {"Cookie": session})
    else:
        events = team.reader.events(recording_id)
    assert next(events)[0] == "grown"
    if end == "log-out":
        team.nobody.ask("DELETE", "/api/session", headers={"Cookie": session}).expect(204)
    else:
        team.server.said("token", end, "reader")
    team.lena.append(recording_id, len(honest), golden).expect(204)
    # The stream ends; facts of the first part may have been told before.
    for name, told in events:
        assert (name, told["bytes"]) == ("grown", len(honest))
    # Its owner still follows.
    assert any(told["bytes"] == len(honest) + len(golden) for _, told in team.lena.events(recording_id))


def test_a_quiet_stream_ends_with_its_session(team: Team, honest: bytes) -> None:
    recording_id = team.lena.begin(live=True)
    team.lena.append(recording_id, 0, honest).expect(204)
    until(lambda: team.lena.get(f"/api/recordings/{recording_id}").expect(200).json()["facts"] is not None)
    events = team.reader.events(recording_id)
    assert next(events)[0] == "grown"
    team.server.said("token", "revoke", "reader")
    assert list(events) == []


def test_a_tag_that_was_taken_away_stays_away(server: Server) -> None:
    client, whole = server.client(), Crafted(tags=["build=42", "main"]).recording()
    recording_id = client.begin(live=True, tags=["nightly"])
    client.append(recording_id, 0, whole).expect(204)
    path = f"/api/recordings/{recording_id}"
    tags = lambda: client.get(path).expect(200).json()["tags"]
    until(lambda: tags() == ["nightly", "build=42", "main"])
    client.ask("PATCH", path, {"tags": ["nightly", "main"]}).expect(200)
    assert client.seal(recording_id, whole).expect(200).json()["tags"] == ["nightly", "main"]
    assert client.recordings(q="tag:build=42") == []
