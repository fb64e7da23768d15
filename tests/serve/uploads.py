"""Clients that upload one recording after the other and remember what the server acknowledged, and the check that nothing of it was lost.

Owns: that memory. Never: takes for acknowledged what a connection cut short.
"""

import hashlib
import http.client
import threading
from dataclasses import dataclass, field

import crafted
from client import Client

PIECE_BYTES = 1 << 18


@dataclass
class Uploader:
    """Uploads recordings in pieces and remembers only what the server acknowledged."""

    client: Client
    number: int
    stop: threading.Event
    # Of one recording in four.
    large_bytes: int = 1_500_000
    sealed: dict[str, bytes] = field(default_factory=dict)
    # Not sealed: what was acknowledged, and the whole.
    open: dict[str, tuple[int, bytes]] = field(default_factory=dict)

    def run(self) -> None:
        seed = self.number * 10_000
        while not self.stop.is_set():
            seed += 1
            recording = crafted.Crafted(seed=seed).padded(self.large_bytes) if seed % 4 == 0 else crafted.unique(seed)
            try:
                if seed % 2:
                    self.sealed[self.client.push(recording, f"{seed}.genba")["id"]] = recording
                else:
                    self.in_pieces(recording, f"{seed}.genba")
            except (OSError, http.client.HTTPException):
                return

    def in_pieces(self, recording: bytes, name: str) -> None:
        recording_id = self.client.begin(name)
        self.open[recording_id] = (0, recording)
        for at in range(0, len(recording), PIECE_BYTES):
            end = self.client.append(recording_id, at, recording[at : at + PIECE_BYTES]).expect(204).offset
            self.open[recording_id] = (end, recording)
        self.client.seal(recording_id, recording).expect(200)
        self.sealed[recording_id] = recording
        del self.open[recording_id]


def check_nothing_lost(client: Client, uploaders: list[Uploader]) -> None:
    listed = {one["id"]: one for one in client.recordings()}
    for recording_id, recording in (item for one in uploaders for item in one.sealed.items()):
        assert listed[recording_id]["state"] == "sealed" and listed[recording_id]["sha256"] == hashlib.sha256(recording).hexdigest()
        assert client.content(recording_id) == recording
    for recording_id, (acknowledged, recording) in (item for one in uploaders for item in one.open.items()):
        if client.get(f"/api/recordings/{recording_id}").expect(200).json()["state"] == "sealed":
            # The seal was done and its answer did not arrive.
            assert client.content(recording_id) == recording
            continue
        offset = client.offset(recording_id)
        assert acknowledged <= offset <= len(recording)
        assert client.content(recording_id) == recording[:offset]
        for at in range(offset, len(recording), PIECE_BYTES):
            client.append(recording_id, at, recording[at : at + PIECE_BYTES]).expect(204)
        client.seal(recording_id, recording).expect(200)
        assert client.content(recording_id) == recording
    # What was never acknowledged is whole or not there.
    for one in client.recordings():
        if one["state"] == "sealed":
            content = client.content(one["id"])
            assert (len(content), hashlib.sha256(content).hexdigest()) == (one["bytes"], one["sha256"]) and one["facts"] is not None
