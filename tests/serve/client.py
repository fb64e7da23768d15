"""An HTTP client that hides nothing: one request, one answer, no redirect followed, any header and any path sent as given.

Owns: what an answer is, and the ways a recording is uploaded. Never: asserts more than that an upload was acknowledged.
"""

import contextlib
import hashlib
import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

SECONDS_MAX = 60
BINARY = "application/octet-stream"
PROBLEM = "application/problem+json"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def offset(self) -> int:
        return int(self.headers["Upload-Offset"])

    @property
    def kind(self) -> str:
        return (self.headers["Content-Type"] or "").partition(";")[0]

    def expect(self, *statuses: int) -> "Answer":
        assert self.status in statuses, f"{self.status}, expected {statuses}: {self.body[:500]!r}"
        return self


@dataclass(frozen=True)
class Client:
    """Speaks to one server with one token, or without."""

    port: int
    token: str | None = None
    # Which of the machine's own addresses the requests come from.
    source: str = "127.0.0.1"

    def with_token(self, token: str | None) -> "Client":
        return replace(self, token=token)

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | Any = None,
        *,
        headers: dict[str, str] | None = None,
        query: list[tuple[str, str]] | dict[str, str] | None = None,
        kind: str | None = None,
    ) -> Answer:
        """A body that is not bytes is sent as JSON."""
        sent = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if body is not None and not isinstance(body, (bytes, bytearray)):
            body, kind = json.dumps(body).encode(), kind or "application/json"
        if body is not None:
            sent["Content-Type"] = kind or BINARY
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS_MAX, source_address=(self.source, 0))
        try:
            connection.connect()
            # What is too large is answered before all of it is sent.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, path + ("?" + urlencode(query) if query else ""), body, {**sent, **(headers or {})})
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **options: Any) -> Answer:
        return self.ask("GET", path, **options)

    def push(self, recording: bytes, name: str = "app.genba", tags: tuple[str, ...] = (), host: str | None = None) -> dict[str, Any]:
        """Uploads a file in one request, as curl does; the recording as acknowledged."""
        query = [("name", name), *(("tag", tag) for tag in tags), *([("host", host)] if host else [])]
        return self.ask("POST", "/api/recordings", recording, query=query).expect(201).json()

    def begin(self, name: str = "app.genba", **more: Any) -> str:
        return self.ask("POST", "/api/recordings", {"name": name, **more}).expect(201).json()["id"]

    def append(self, recording_id: str, offset: int, piece: bytes) -> Answer:
        return self.ask("PATCH", f"/api/recordings/{recording_id}/content", piece, headers={"Upload-Offset": str(offset)})

    def offset(self, recording_id: str) -> int:
        return self.ask("HEAD", f"/api/recordings/{recording_id}/content").expect(200).offset

    def seal(self, recording_id: str, recording: bytes) -> Answer:
        digest = hashlib.sha256(recording).hexdigest()
        return self.ask("POST", f"/api/recordings/{recording_id}/seal", {"bytes": len(recording), "sha256": digest})

    def push_in_pieces(self, recording: bytes, piece_bytes: int, name: str = "app.genba", **more: Any) -> dict[str, Any]:
        recording_id = self.begin(name, **more)
        for at in range(0, len(recording), piece_bytes):
            piece = recording[at : at + piece_bytes]
            assert self.append(recording_id, at, piece).expect(204).offset == at + len(piece)
        return self.seal(recording_id, recording).expect(200).json()

    def content(self, recording_id: str) -> bytes:
        return self.get(f"/api/recordings/{recording_id}/content").expect(200).body

    def recordings(self, **query: str) -> list[dict[str, Any]]:
        """All pages."""
        found, cursor = [], None
        while True:
            page = self.get("/api/recordings", query={"limit": "200", **query, **({"cursor": cursor} if cursor else {})}).expect(200).json()
            found += page["recordings"]
            cursor = page["next"]
            if cursor is None:
                return found

    def events(self, recording_id: str, headers: dict[str, str] | None = None) -> Iterator[tuple[str, Any]]:
        """Server-sent events, as they come, until the server ends them."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS_MAX, source_address=(self.source, 0))
        sent = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        connection.request("GET", f"/api/recordings/{recording_id}/events", headers={"Accept": "text/event-stream", **sent, **(headers or {})})
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Content-Type"].partition(";")[0]) == (200, "text/event-stream")
        event: dict[str, str] = {}
        try:
            while line := answer.readline().decode():
                if line == "\n":
                    if "event" in event:
                        yield event["event"], json.loads(event.get("data") or "null")
                    event = {}
                elif not line.startswith(":"):
                    name, _, value = line.rstrip("\n").partition(":")
                    event[name] = value.removeprefix(" ")
        finally:
            connection.close()


def in_path(text: str) -> str:
    return quote(text, safe="")
