"""`python tests/serve/costs.py FOLDER`: one request at a time to a server with a data folder and to one with PostgreSQL and three nodes of Garage, in
turns, on one machine; one line of JSON a figure. benches/goals/shared.py makes rows of them.

Owns: what is asked. Never: judges. A network between the machines, and a disk of their own, are not measured.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / folder) for folder in ("", "workshop", "judging", "soaking")]

import crafted
import garage
from client import Client
from engines import Postgres
from garage import Garage
from served import Server

ROUNDS, LARGE_ROUNDS, LARGE_BYTES = 51, 9, 20_000_000
# So many recordings are listed.
LISTED = 100


def main() -> None:
    folder = Path(sys.argv[1])
    alone = Server(folder / "alone")
    database = Postgres()
    try:
        store = Garage(folder / "garage")
        try:
            places = ["--db", database.database("costs"), "--store", f"s3://{garage.BUCKET}/recordings"]
            shared = Server(folder / "shared", places=places, secrets=store.secrets(0))
            try:
                measure(alone.start().client(), shared.start().client())
            finally:
                shared.end()
        finally:
            store.end()
    finally:
        alone.end()
        database.remove()


def measure(alone: Client, shared: Client) -> None:
    for number in range(LISTED):
        for client in (alone, shared):
            client.push(crafted.unique(number), f"{number}.genba")
    pushed = lambda client, recording: client.push(recording)["id"]
    asked = lambda client, path: client.get(path).expect(200)
    large = [crafted.Crafted(seed=number).padded(LARGE_BYTES) for number in range(LARGE_ROUNDS)]
    small = [crafted.unique(1_000 + number) for number in range(ROUNDS)]
    tell("an upload of 20 MB", *in_turns([{alone: one, shared: one} for one in large], pushed))
    tell("a small upload", *in_turns([{alone: one, shared: one} for one in small], pushed))
    page = "/api/recordings?limit=50"
    tell("the first page of the list", *in_turns([{alone: page, shared: page}] * ROUNDS, asked))
    # An answer that was given once is in the server's memory.
    others = [crafted.unique(10_000 + number) for number in range(ROUNDS)]
    trees = [{client: f"/api/recordings/{pushed(client, one)}/tree" for client in (alone, shared)} for one in others]
    tell("a tree that nobody has asked for", *in_turns(trees, asked))


def in_turns(rounds: list[dict[Client, Any]], ask: Callable[[Client, Any], object]) -> list[float]:
    """The median of each client's, in milliseconds."""
    taken_ms: dict[Client, list[float]] = {client: [] for client in rounds[0]}
    for number, given in enumerate(rounds):
        for client, what in list(given.items())[:: 1 if number % 2 else -1]:
            before = time.perf_counter()
            ask(client, what)
            taken_ms[client].append((time.perf_counter() - before) * 1e3)
    return [statistics.median(each) for each in taken_ms.values()]


def tell(figure: str, alone_ms: float, shared_ms: float) -> None:
    print(json.dumps({"figure": figure, "alone_milliseconds": alone_ms, "shared_milliseconds": shared_ms}), flush=True)


if __name__ == "__main__":
    main()
