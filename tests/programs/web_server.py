"""A threaded web server: a request hashes a little and sorts a little in a thread of its own; `/stop` ends it."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        if self.path == "/stop":
            threading.Thread(target=self.server.shutdown).start()
        number = len(self.path)
        digest = hashlib.sha256(self.path.encode() * 2000).hexdigest()
        body = json.dumps({"digest": digest, "sorted": sorted((n * number) % 97 for n in range(300))}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = False


with Server(("127.0.0.1", 0), Handler) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever(poll_interval=0.05)
print("stopped")
