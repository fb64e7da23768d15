"""A commit for each row waits for the disk for each row."""

import sqlite3
import sys
import tempfile
from pathlib import Path


def store(database, amount):
    for number in range(amount):
        database.execute("INSERT INTO log VALUES (?, ?)", (number, "text"))
        database.commit()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        database = sqlite3.connect(f"{folder}/log.db")
        database.execute("CREATE TABLE log (id INTEGER, what TEXT)")
        store(database, int(sys.argv[1]))
        database.close()
