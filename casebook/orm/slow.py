"""What the shop sold, and what some customers ordered on some days."""

import sys

import shop
from shop import Order
from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session


def sold(session: Session) -> int:
    session.expunge_all()
    orders = session.scalars(select(Order)).all()
    return sum(order.cents for order in orders)


def ordered(session: Session, pairs: list[tuple[int, int]]) -> int:
    wanted = or_(*[and_(Order.customer == customer, Order.day == day) for customer, day in pairs])
    return len(session.execute(select(Order.id).where(wanted)).all())


def main(times: int) -> None:
    with Session(shop.engine()) as session:
        cents = sum(sold(session) for _ in range(times))
        found = sum(ordered(session, shop.pairs(request)) for request in range(40 * times))
    print(f"{cents / times / 100:,.2f} sold, {found} orders found")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
