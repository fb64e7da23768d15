"""A list that is longer than what one request looks at: its rows are made by the database itself, without recordings behind them.

Owns: the rows, and what a search among them has to answer. Never: knows which database it is.
"""

from client import Client

RECORDINGS = 25_000
# Each page looks at 10,000 (crates/server/src/storage/listing.rs).
PAGES = 3
FIRST_ID = 1_000_000_000_000_000
ROWS = f"WITH RECURSIVE made(place) AS (SELECT 1 UNION ALL SELECT place + 1 FROM made WHERE place < {RECORDINGS})"
ID = f"CAST({FIRST_ID} + place AS TEXT)"
# Where the first pages end, by the place of their last row.
REACHED = {"newest": [15_001, 5_001], "oldest": [10_000, 20_000]}
# The oldest one alone has both tags.
STATEMENTS = (
    f"""{ROWS} INSERT INTO recordings (id, name, state, live, listed, owner, tags, created_ms, touched_ms, bytes, program, cpu_ns, wall_ns)
        SELECT {ID}, 'app.genba', 'sealed', 0, 1, 'local', '[]', place, place, 1, 'app', 0, 0 FROM made""",
    f"""{ROWS} INSERT INTO terms (kind, word, created_ms, recording)
        SELECT 'tag', CASE WHEN place % 2 = 0 THEN 'even' ELSE 'odd' END, place, {ID} FROM made""",
    f"INSERT INTO terms (kind, word, created_ms, recording) VALUES ('tag', 'even', 1, '{FIRST_ID + 1}')",
)


def check_parts(client: Client) -> None:
    """Words that hardly ever meet are looked for in a part of the list at a time, and each part says that it is one."""
    oldest = str(FIRST_ID + 1)
    never, last, first = [[]] * PAGES, [[]] * (PAGES - 1) + [[oldest]], [[oldest]] + [[]] * (PAGES - 1)
    searches = {("tag:even tag:odd", "newest"): last, ("tag:even tag:odd", "oldest"): first, ("tag:even cpu>1s", "newest"): never}
    for (words, sort), ids in searches.items():
        pages = pages_of(client, words, sort)
        assert [[one["id"] for one in page["recordings"]] for page in pages] == ids, (words, sort)
        assert [page["reached"] for page in pages] == [*(reached(place) for place in REACHED[sort]), None], (words, sort)
        assert [page["looked"] for page in pages] == [10_000, 20_000, None], (words, sort)
        # Counted is what the first page looks at.
        assert {(page["matched"], page["matched_is_least"]) for page in pages} == {(len(ids[0]), True)}, (words, sort)
    # The first page counts, and the others tell its number, whatever became of what it counted.
    asked = {"q": "tag:even tag:odd", "sort": "oldest"}
    counted = client.get("/api/recordings", query=asked).expect(200).json()
    client.ask("DELETE", f"/api/recordings/{oldest}").expect(204)
    after = client.get("/api/recordings", query={**asked, "cursor": counted["next"]}).expect(200).json()
    assert (after["matched"], after["matched_is_least"]) == (1, True)
    assert client.get("/api/recordings", query=asked).expect(200).json()["matched"] == 0
    # A page that is full needs no other.
    full = client.get("/api/recordings", query={"q": "tag:even size>0B", "limit": "10"}).expect(200).json()
    assert [int(one["id"]) - FIRST_ID for one in full["recordings"]] == list(range(RECORDINGS, RECORDINGS - 20, -2))
    assert (full["matched"], full["matched_is_least"], full["looked"]) == (1_000, True, 19)


def reached(place: int) -> dict[str, int | str]:
    return {"place": place, "id": str(FIRST_ID + place)}


def pages_of(client: Client, words: str, sort: str) -> list[dict]:
    pages: list[dict] = []
    while not pages or pages[-1]["next"] is not None:
        cursor = {"cursor": pages[-1]["next"]} if pages else {}
        pages.append(client.get("/api/recordings", query={"q": words, "sort": sort, "limit": "10", **cursor}).expect(200).json())
        assert len(pages) <= PAGES
    return pages
