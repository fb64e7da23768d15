"""A password is hashed in the event loop, and everybody waits for it."""

import asyncio
import hashlib
import sys


async def login(name):
    await asyncio.sleep(0)
    return hashlib.pbkdf2_hmac("sha256", name.encode(), b"salt", 500_000)


async def main(amount):
    await asyncio.gather(*(login(f"user {number}") for number in range(amount)))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
