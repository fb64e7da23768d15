"""A client asks a slow server, one request after the other."""

import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer


class Slow(BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.02)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"done")

    def log_message(self, *_):
        pass


def fetch(url):
    with urllib.request.urlopen(url) as answer:
        return answer.read()


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for _ in range(int(sys.argv[1])):
        fetch(f"http://127.0.0.1:{server.server_port}/")
    server.shutdown()
