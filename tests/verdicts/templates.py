"""A shop's pages are rendered from templates, for readers, for small screens, for its own people: none stands out, and most of the time is
in the library."""

import sys

import jinja2

ROWS = [{"name": f"thing <{number}>", "price": number * 1.5 % 7, "tags": ["new", "red"][: number % 3]} for number in range(12)]
PAGES = {
    "list": """{% for row in rows|sort(attribute="price") %}<tr><td>{{ loop.index }}</td><td>{{ row.name|capitalize }}</td></tr>{% endfor %}""",
    "cards": """{% for row in rows[:8] %}<div class="{{ loop.cycle("a", "b") }}">{{ row.name|title }}: {{ row.tags|join(", ") }}</div>{% endfor %}""",
    "basket": """{% for row in rows %}{{ "%.2f"|format(row.price) }} {% endfor %}{{ rows|map(attribute="price")|sum|round(2) }}""",
    "mail": """{% for row in rows[:2] %}{{ ("many thanks for " ~ row.name ~ " and all the rest")|wordwrap(24)|indent(2) }}{% endfor %}""",
    "menu": """<ul>{% for name in ["start", "shop", "basket", "help", "about", "terms"] %}<li>{{ name|title|replace("a", "A") }}</li>{% endfor %}</ul>""",
    "groups": """{% for price, found in rows|groupby("price") %}{{ price }}: {{ found|length }}{% endfor %}""",
    "tags": """{% for row in rows if row.tags %}{{ row.tags|join("/")|upper|trim }}{% else %}none{% endfor %}""",
    "feed": """{% for row in rows %}<item>{{ row.name|escape }}</item>{% endfor %}<link>{{ "/a b"|urlencode }}</link>""",
    "table": """{% for line in rows|batch(3) %}<tr>{% for row in line %}<td>{{ row.price|int }}</td>{% endfor %}</tr>{% endfor %}""",
    "search": """{% for row in rows|selectattr("tags") %}{{ row.name|truncate(6) }}{{ row.name|length }} {% endfor %}{{ rows|length }}""",
    "macro": """{% macro cell(row) %}<b>{{ row.name|lower }}</b>{% endmacro %}{% for row in rows[:8] %}{{ cell(row) }}{% endfor %}""",
    "sums": """{% for row in rows %}{% set tax = row.price * 0.19 %}{{ tax|round(1) }} {{ tax > 0.5 }} {% endfor %}""",
}
ENGINE = jinja2.Environment(loader=jinja2.DictLoader(PAGES), autoescape=True)


def render(name):
    return ENGINE.get_template(name).render


def page_shop():
    return [
        render("list")(rows=ROWS),
        render("cards")(rows=ROWS),
        render("menu")(rows=ROWS),
    ]


def page_checkout():
    return [
        render("basket")(rows=ROWS),
        render("sums")(rows=ROWS),
        render("macro")(rows=ROWS),
    ]


def page_news():
    return [
        render("feed")(rows=ROWS),
        render("tags")(rows=ROWS),
        render("groups")(rows=ROWS),
    ]


def page_send():
    return [
        render("mail")(rows=ROWS),
        render("search")(rows=ROWS),
        render("table")(rows=ROWS),
    ]


def small_shop():
    return [
        render("list")(rows=ROWS[:6]),
        render("cards")(rows=ROWS[:6]),
        render("menu")(rows=ROWS[:6]),
    ]


def small_checkout():
    return [
        render("basket")(rows=ROWS[:6]),
        render("sums")(rows=ROWS[:6]),
        render("macro")(rows=ROWS[:6]),
    ]


def small_news():
    return [
        render("feed")(rows=ROWS[:6]),
        render("tags")(rows=ROWS[:6]),
        render("groups")(rows=ROWS[:6]),
    ]


def small_send():
    return [
        render("mail")(rows=ROWS[:6]),
        render("search")(rows=ROWS[:6]),
        render("table")(rows=ROWS[:6]),
    ]


def admin_shop():
    return [
        render("list")(rows=ROWS[6:]),
        render("cards")(rows=ROWS[6:]),
        render("menu")(rows=ROWS[6:]),
    ]


def admin_checkout():
    return [
        render("basket")(rows=ROWS[6:]),
        render("sums")(rows=ROWS[6:]),
        render("macro")(rows=ROWS[6:]),
    ]


def admin_news():
    return [
        render("feed")(rows=ROWS[6:]),
        render("tags")(rows=ROWS[6:]),
        render("groups")(rows=ROWS[6:]),
    ]


def admin_send():
    return [
        render("mail")(rows=ROWS[6:]),
        render("search")(rows=ROWS[6:]),
        render("table")(rows=ROWS[6:]),
    ]


VIEWS = [
    page_shop,
    page_checkout,
    page_news,
    page_send,
    small_shop,
    small_checkout,
    small_news,
    small_send,
    admin_shop,
    admin_checkout,
    admin_news,
    admin_send,
]


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        for view in VIEWS:
            view()
