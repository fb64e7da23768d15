"""Makes the tables anew, with the same orders each time."""

import shop
from sqlalchemy import insert


def main() -> None:
    engine = shop.engine()
    shop.Base.metadata.drop_all(engine)
    shop.Base.metadata.create_all(engine)
    orders = [
        {"customer": number * 17 % shop.CUSTOMERS, "day": number * 5 % shop.DAYS, "cents": number * 97 % 10_000, "pieces": 1 + number % 7, "state": number % 3}
        for number in range(shop.ORDERS)
    ]
    with engine.begin() as connection:
        connection.execute(insert(shop.Order), orders)
    print(f"{shop.ORDERS:,} orders in {engine.url.drivername}")


if __name__ == "__main__":
    main()
