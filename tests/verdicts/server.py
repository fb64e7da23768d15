"""An asyncio server under load: of each answer it makes a copy, row by row, before it writes it."""

import asyncio
import copy
import json
import sys

ROWS = [{"id": number, "name": f"row {number}", "tags": ["a", "b", "c"]} for number in range(100)]


async def answer(reader, writer):
    while line := await reader.readline():
        first = json.loads(line)["first"]
        rows = copy.deepcopy(ROWS)
        writer.write(json.dumps(rows[first : first + 5]).encode() + b"\n")
        await writer.drain()
    writer.close()


async def client(port, count):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in range(count):
        writer.write(json.dumps({"first": number % 50}).encode() + b"\n")
        await reader.readline()
    writer.close()


async def main(count):
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        await asyncio.gather(*(client(port, count) for _ in range(8)))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
