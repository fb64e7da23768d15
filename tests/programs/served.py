"""A WSGI application: each request works for about ten milliseconds and answers with the worker's pid. `/hang` works on until the worker is asked
to end, `/hang/on` until it is killed.
"""

import os
from time import process_time, sleep


def handle_request():
    total, until = 0, process_time() + 0.01
    while process_time() < until:
        for number in range(500):
            total += number
    return total


def hang(goes_on):
    """As one that tries again and again; the pauses leave the CPUs to the other workers."""
    try:
        while True:
            handle_request()
            sleep(0.06)
    finally:
        if goes_on:
            hang(goes_on)


def application(environ, start_response):
    if environ["PATH_INFO"].startswith("/hang"):
        hang(environ["PATH_INFO"] == "/hang/on")
    handle_request()
    body = str(os.getpid()).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
