"""Each order asks for its customer by a column without an index, so SQLite reads the whole table each time."""

import sqlite3
import sys


def filled():
    database = sqlite3.connect(":memory:")
    database.execute("create table customers (number integer, name text)")
    rows = ((number, f"customer {number}") for number in range(20_000))
    database.executemany("insert into customers values (?, ?)", rows)
    return database


def customer(database, number):
    return database.execute("select name from customers where number = ?", (number,)).fetchone()


if __name__ == "__main__":
    database = filled()
    for number in range(int(sys.argv[1])):
        customer(database, 19_000 + number % 1000)
