"""A recording that grows is followed by server-sent events while it is uploaded."""

from served import Server


def test_a_live_recording_is_followed(server: Server, golden: bytes, honest: bytes) -> None:
    client = server.client()
    recording_id = client.begin("live.genba", live=True)
    assert client.get(f"/api/recordings/{recording_id}").expect(200).json()["live"]
    assert client.get("/api/recordings").expect(200).json()["live"] == 1
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
