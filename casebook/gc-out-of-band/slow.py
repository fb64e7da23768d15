"""A web application whose requests leave garbage in cycles, so that collections run within them.

`application` is for any WSGI server. Started alone, the file answers requests as a server does, but without a network. argv: how many. Prints
what CPU time they took until the response was there.
"""

import sys
import time

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
    """What a server does with each request. Gives the CPU seconds of each, in order, and how many bytes were sent."""
    sent, took = 0, []
    for _ in range(requests):
        began = time.thread_time()
        response = application({"REQUEST_METHOD": "GET", "PATH_INFO": "/"}, lambda status, headers: None)
        sent += sum(map(len, response))
        # Now the client has it. A server closes what it has sent.
        took.append(time.thread_time() - began)
        if hasattr(response, "close"):
            response.close()
    return sorted(took), sent


def main(application):
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    took, sent = answer(application, requests)
    assert sent == 4 * requests
    half, most = took[requests // 2], took[requests * 99 // 100]
    print(f"{requests} requests: half within {half * 1000:.2f} ms, 99 % within {most * 1000:.2f} ms, the slowest {took[-1] * 1000:.2f} ms")


if __name__ == "__main__":
    main(application)
