"""A template is compiled for each page."""

import sys

from jinja2 import Template

TEXT = "<ul>{% for row in rows %}<li>{{ row.name }}: {{ row.price }}</li>{% endfor %}</ul>"


def page(rows):
    return Template(TEXT + f"<!-- {len(rows)} -->").render(rows=rows)


if __name__ == "__main__":
    for number in range(int(sys.argv[1])):
        page([{"name": "a", "price": number}] * (number + 1))
