"""Runs a command beside a registry with one image, behind a link that gives each connection a part: behind.py REGISTRY COMMAND. Without words it says
whether such a link can be made here.

Owns: a network of its own (unshare), the link, the registry's process and its folder. Never: touches the machine's own network.
"""

import hashlib
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from image import HOST, LANES, MANIFEST, PORT

LEAST, EACH, ALL, BURST = "20mbit", "40mbit", "200mbit", "70k"
LAYERS = (4 << 20, 3 << 20, 1 << 20)
CONFIG = """
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: "{folder}"}}}}
http: {{addr: "{host}:{port}"}}
"""


def link() -> None:
    """A class for each remainder of the client's port, all of them in one that is the whole link. Other packets are not held up."""
    for line in ("link set lo mtu 1500", "link set lo up"):
        run(["ip", *line.split()])
    rules = [
        "qdisc add dev lo root handle 1: htb default 90 r2q 1000",
        "class add dev lo parent 1: classid 1:90 htb rate 10gbit",
        f"class add dev lo parent 1: classid 1:1 htb rate {ALL} ceil {ALL} burst {BURST} cburst {BURST}",
    ]
    for lane in range(LANES):
        rules.append(f"class add dev lo parent 1:1 classid 1:1{lane} htb rate {LEAST} ceil {EACH} burst {BURST} cburst {BURST}")
        rules.append(f"filter add dev lo parent 1: protocol ip prio 1 u32 match ip protocol 6 0xff match ip sport {PORT} 0xffff match ip dport {lane} 0x7 flowid 1:1{lane}")
    for rule in rules:
        run(["tc", *rule.split()])


def run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise SystemExit(f"no {command[0]}; hint: apt-get install iproute2") from None
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")


def fill() -> None:
    """Layers of random bytes, the same each time, and the manifest that names them."""
    connection = http.client.HTTPConnection(HOST, PORT)
    chance = random.Random(7)

    def put(content: bytes) -> dict[str, object]:
        connection.request("POST", "/v2/shop/app/blobs/uploads/")
        answer = connection.getresponse()
        answer.read()
        place = answer.headers["Location"]
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        connection.request("PUT", f"{place}&digest={digest}", body=content, headers={"Content-Type": "application/octet-stream"})
        done = connection.getresponse()
        done.read()
        assert done.status == http.client.CREATED, done.status
        return {"mediaType": "application/octet-stream", "size": len(content), "digest": digest}

    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": put(b"{}"), "layers": [put(chance.randbytes(size)) for size in LAYERS]}
    connection.request("PUT", "/v2/shop/app/manifests/latest", body=json.dumps(manifest), headers={"Content-Type": MANIFEST})
    assert connection.getresponse().status == http.client.CREATED


def wait_for_registry(registry: subprocess.Popen) -> None:
    while registry.poll() is None:
        try:
            connection = http.client.HTTPConnection(HOST, PORT)
            connection.request("GET", "/v2/")
            connection.getresponse()
            return
        except OSError:
            time.sleep(0.02)
    raise SystemExit("the registry ended")


def main(program: str, command: str) -> int:
    link()
    with tempfile.TemporaryDirectory(prefix="registry-") as folder:
        config = Path(folder, "config.yml")
        config.write_text(CONFIG.format(folder=folder, host=HOST, port=PORT))
        registry = subprocess.Popen([program, "serve", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={"OTEL_TRACES_EXPORTER": "none", **os.environ})
        try:
            wait_for_registry(registry)
            fill()
            return subprocess.run(["bash", "-c", command]).returncode
        finally:
            registry.kill()
            registry.wait()


if __name__ == "__main__":
    if os.environ.get("BEHIND_A_LINK") != "1":
        own = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
        os.environ["BEHIND_A_LINK"] = "1"
        os.execvp("unshare", [*own, sys.executable, *sys.argv])
    if len(sys.argv) == 1:
        link()
        sys.exit()
    sys.exit(main(sys.argv[1], sys.argv[2]))
