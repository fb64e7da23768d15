"""The tables of a shop, and where they are: `SHOP_URL`, else a file of SQLite in this folder."""

import os

from sqlalchemy import Engine, Index, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

DAYS, CUSTOMERS, ORDERS = 365, 500, 20_000


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    __table_args__ = (Index("by_customer", "customer", "day"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[int]
    day: Mapped[int]
    cents: Mapped[int]
    pieces: Mapped[int]
    state: Mapped[int]


def engine() -> Engine:
    return create_engine(os.environ.get("SHOP_URL", "sqlite:///shop.db"))


def pairs(request: int) -> list[tuple[int, int]]:
    """What a request asks for: customers, each on a day; from 10 to 49 of them."""
    return [((request * 31 + number * 7) % CUSTOMERS, (request + number * 13) % DAYS) for number in range(10 + request % 40)]
