"""A WSGI application: each request works for about ten milliseconds and answers with the worker's pid."""

import os
from time import process_time


def handle_request():
    total, until = 0, process_time() + 0.01
    while process_time() < until:
        for number in range(500):
            total += number
    return total


def application(environ, start_response):
    handle_request()
    body = str(os.getpid()).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
