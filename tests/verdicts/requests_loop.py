"""Asks a server for one row after the other, and waits for each answer."""

import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests


class Rows(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        time.sleep(0.03)
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"done")

    def log_message(self, *_):
        pass


def fetch(session, url):
    return session.get(url).text


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Rows)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    session = requests.Session()
    for number in range(int(sys.argv[1])):
        fetch(session, f"http://127.0.0.1:{server.server_port}/{number}")
