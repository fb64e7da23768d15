"""A web application whose requests leave garbage in cycles, so that collections run within them.

`application` is for any WSGI server. Started alone, the file answers requests as a server does, but without a network. argv: how many.
"""

import sys

ROWS = 3_000


def handle():
    rows = [{"number": number} for number in range(ROWS)]
    for row in rows:
        row["table"] = rows
    return len(rows)


def application(environ, start_response):
    body = str(handle()).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


def answer(application, requests):
    """What a server does with each request."""
    sent = 0
    for _ in range(requests):
        response = application({"REQUEST_METHOD": "GET", "PATH_INFO": "/"}, lambda status, headers: None)
        sent += sum(map(len, response))
        if hasattr(response, "close"):
            response.close()
    return sent


if __name__ == "__main__":
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    assert answer(application, requests) == 4 * requests
