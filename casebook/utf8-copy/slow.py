"""A hundred words of ten letters as UTF-8, again and again. argv: how often; 0: serve them over HTTP, on a port that is printed."""

import os
import socket
import sys
import threading
import time

sys.path.insert(0, os.getcwd())
import joined

WORDS = [f"word{number:06}" for number in range(100)]


def write(count, form):
    for _ in range(count):
        form(WORDS)


def answer(connection, form):
    with connection:
        while request := connection.recv(65536):
            for _ in range(request.count(b"\r\n\r\n")):
                body = form(WORDS)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def serve(form):
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        threading.Thread(target=answer, args=[listener.accept()[0], form], daemon=True).start()


def main(form):
    count = int(sys.argv[1])
    if count == 0:
        serve(form)
    begin = time.process_time()
    write(count, form)
    print(f"{(time.process_time() - begin) / count * 1e6:.2f} µs of CPU for a hundred words")


if __name__ == "__main__":
    main(joined.encoding)
