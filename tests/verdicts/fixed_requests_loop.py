"""requests_loop.py, with eight requests under way at a time."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import ThreadingHTTPServer

import requests
from requests_loop import Rows

OWN = threading.local()


def fetch(url):
    if not hasattr(OWN, "session"):
        OWN.session = requests.Session()
    return OWN.session.get(url).text


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Rows)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    urls = [f"http://127.0.0.1:{server.server_port}/{number}" for number in range(int(sys.argv[1]))]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(fetch, urls))
