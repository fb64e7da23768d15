"""The WSGI application of the work `gunicorn`: each request renders a page of forty rows and answers with it."""

import json
from html import escape

ROW = "<tr class='{kind}'><td>{name}</td><td>{price:.2f}</td><td>{words}</td></tr>"


def rows(number):
    for index in range(40):
        kind = "odd" if index % 2 else "even"
        yield ROW.format(kind=kind, name=escape(f"<{index}>"), price=index * 1.17, words=json.dumps([index, number]))


def application(environ, start_response):
    body = f"<table>{''.join(rows(len(environ)))}</table>".encode()
    start_response("200 OK", [("Content-Type", "text/html"), ("Content-Length", str(len(body)))])
    return [body]
