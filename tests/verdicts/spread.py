"""A page is rendered from many small pieces, none of which stands out."""

import base64
import calendar
import colorsys
import csv
import datetime
import decimal
import fractions
import heapq
import html
import io
import ipaddress
import json
import random
import shlex
import string
import sys
import textwrap
import urllib.parse
import uuid

TEXT = "The quick brown fox & <the> lazy dog. " * 8
WORDS = TEXT.split()
CHOOSE = random.Random(1)


def title(row):
    return html.escape(TEXT[row % 7 :]).title()


def link(row):
    return urllib.parse.urlencode({"row": row})


def body(row):
    return textwrap.indent(TEXT[:30], " " * (row % 9))


def price(row):
    return f"{decimal.Decimal(row) / decimal.Decimal('1.19'):.2f} {decimal.getcontext().create_decimal(row).sqrt()}"


def ratio(row):
    return str(fractions.Fraction(row + 1, 360) + fractions.Fraction(7, row + 11))


def when(row):
    day = datetime.date(2026, 1, 1) + datetime.timedelta(days=row % 365)
    return day.isoformat() + day.ctime()


def month(row):
    return calendar.monthrange(2026, row % 12 + 1)


def colour(row):
    return [colorsys.hsv_to_rgb(step / 12, 0.5, row % 5 / 5) for step in range(4)]


def table(row):
    out = io.StringIO()
    csv.writer(out).writerows([[row, word, len(word)] for word in WORDS[:3]])
    return out.getvalue()


def address(row):
    return str(ipaddress.ip_address(row))


def data(row):
    return json.dumps({word: [row, len(word)] for word in WORDS[:2]})


def names(row):
    return string.Template("$a $b").substitute(a=row, b=TEXT[:20]) * 2


def command(row):
    return shlex.join(["run", "--row", str(row), "a b"])


def key(row):
    return str(uuid.UUID(int=row)) + base64.b64encode(TEXT.encode()).decode()


def first(row):
    return heapq.nsmallest(2, WORDS[row % 9 : row % 9 + 5])


def order(row):
    words = WORDS[:7]
    CHOOSE.shuffle(words)
    return sorted(words, key=str.lower)[: row % 5]


def digits(row):
    return sum(int(digit) for digit in str(row**5))


def vowels(row):
    return {vowel: TEXT.count(vowel, row % 20) for vowel in "aeiouA"}


def reverse(row):
    return " ".join(word[::-1] for word in WORDS[:20])[row % 3 :]


PIECES = [title, link, body, price, ratio, when, month, colour, table, address, data, names, command, key, first, order, digits, vowels, reverse]


def page(row):
    return [piece(row) for piece in PIECES]


if __name__ == "__main__":
    for row in range(int(sys.argv[1])):
        page(row)
