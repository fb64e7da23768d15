"""Pulls the layers of an image from a registry, each in chunks that come side by side.

Owns: HTTP ranges, the order in which a digest is computed while chunks arrive, and what is left of a pull that was cut: `NAME.part`, and
`NAME.done` with how far each chunk had come. Keeps: a file with a layer's name has its digest.
"""

import hashlib
import http.client
import json
import os
import random
import struct
import threading
from pathlib import Path

HOST, PORT = "127.0.0.1", 5000
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
BLOCK_BYTES = 64 << 10
# The link gives each of so many remainders of a client's port a share of its own (behind.py).
LANES = 8
POSITION = struct.Struct("<Q")


class Layer:
    def __init__(self, image: str, folder: Path, digest: str, size: int, chunks: int) -> None:
        self.path = f"/v2/{image}/blobs/{digest}"
        self.digest = digest.removeprefix("sha256:")
        self.size = size
        bounds = [size * at // chunks for at in range(chunks + 1)]
        self.chunks = list(zip(bounds[:-1], bounds[1:], strict=True))
        self.whole, self.part, self.state = (folder / f"{self.digest}{end}" for end in ("", ".part", ".done"))
        self.news = threading.Condition()
        self.error: OSError | http.client.HTTPException | None = None

    def pull(self) -> int:
        """Bytes that were there already."""
        self.open()
        resumed = sum(self.have)
        fetching = [threading.Thread(target=self.fetch, args=(at,)) for at in range(len(self.chunks))]
        for thread in fetching:
            thread.start()
        try:
            found = self.digested()
        finally:
            for thread in fetching:
                thread.join()
        if found != self.digest:
            self.part.unlink()
            raise ValueError(f"layer {self.digest}: what came has the digest {found}; hint: pull again")
        self.part.rename(self.whole)
        self.state.unlink()
        return resumed

    def open(self) -> None:
        self.file = os.open(self.part, os.O_RDWR | os.O_CREAT, 0o600)
        self.progress = os.open(self.state, os.O_RDWR | os.O_CREAT, 0o600)
        count = len(self.chunks)
        stored = os.pread(self.progress, POSITION.size * (count + 1), 0)
        known = [number for (number,) in POSITION.iter_unpack(stored[: len(stored) // POSITION.size * POSITION.size])]
        # Another number of chunks, or none: from the beginning.
        self.have = known[1:] if known[:1] == [count] and len(known) == count + 1 else [0] * count
        if not any(self.have):
            os.ftruncate(self.progress, 0)
            os.pwrite(self.progress, b"".join(map(POSITION.pack, [count, *self.have])), 0)
        os.ftruncate(self.file, self.size)

    def fetch(self, at: int) -> None:
        begin, end = self.chunks[at]
        try:
            if begin + self.have[at] < end:
                self.receive(at, begin + self.have[at], end)
        except (OSError, http.client.HTTPException) as error:
            self.error = error
        with self.news:
            self.news.notify_all()

    def receive(self, at: int, begin: int, end: int) -> None:
        connection = connected(at)
        connection.request("GET", self.path, headers={"Range": f"bytes={begin}-{end - 1}"})
        answer = connection.getresponse()
        if answer.status != http.client.PARTIAL_CONTENT:
            raise http.client.HTTPException(f"{self.path}: {answer.status} {answer.reason}, and not a part")
        block = memoryview(bytearray(BLOCK_BYTES))
        while length := answer.readinto(block):
            os.pwrite(self.file, block[:length], self.chunks[at][0] + self.have[at])
            # Behind the bytes themselves: after a cut there is at least what it says.
            os.pwrite(self.progress, POSITION.pack(self.have[at] + length), POSITION.size * (at + 1))
            with self.news:
                self.have[at] += length
                self.news.notify_all()
        connection.close()
        if begin + length < end and self.chunks[at][0] + self.have[at] < end:
            raise http.client.IncompleteRead(b"")

    def digested(self) -> str:
        """The digest, computed in the order of the file as soon as bytes are there."""
        digest = hashlib.sha256()
        for at, (begin, end) in enumerate(self.chunks):
            done = begin
            while done < end:
                with self.news:
                    self.news.wait_for(lambda: self.error or begin + self.have[at] > done)
                    there = begin + self.have[at]
                if self.error and there == done:
                    raise self.error
                block = os.pread(self.file, there - done, done)
                digest.update(block)
                done += len(block)
        return digest.hexdigest()


def connected(lane: int) -> http.client.HTTPConnection:
    while True:
        port = random.randrange(20_000, 60_000) // LANES * LANES + lane % LANES
        connection = http.client.HTTPConnection(HOST, PORT, timeout=30, source_address=(HOST, port))
        try:
            connection.connect()
            return connection
        except OSError as error:
            if error.errno not in (98, 99):
                raise


def pull(image: str, folder: Path, chunks: int) -> tuple[int, int, int]:
    """Layers, bytes, and bytes of them that an earlier pull had left."""
    folder.mkdir(exist_ok=True)
    connection = connected(0)
    connection.request("GET", f"/v2/{image}/manifests/latest", headers={"Accept": MANIFEST})
    manifest = json.loads(connection.getresponse().read())
    connection.close()
    layers = [Layer(image, folder, one["digest"], one["size"], chunks) for one in manifest["layers"]]
    return len(layers), sum(layer.size for layer in layers), sum(layer.pull() for layer in layers)
