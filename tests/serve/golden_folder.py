"""`python tests/serve/golden_folder.py v1`: makes testdata/serve/v1, a data folder as the genba of today writes it. For a new layout only; the
number is its last migration's. Folders of earlier layouts are kept as they are, for good.

Owns: what is in it, which test_upgrades.py looks for, however much later: nothing in it expires. The tokens in it open nothing but copies of this folder.
"""

import shutil
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / folder) for folder in ("", "workshop", "judging", "soaking")]

from crafted import Crafted
from recording import REPOSITORY
from served import Server


def main() -> None:
    target = REPOSITORY / "testdata/serve" / sys.argv[1]
    assert not target.exists(), f"{target} is kept for good"
    server = Server(REPOSITORY / "build/golden-folder")
    shutil.rmtree(server.data, ignore_errors=True)
    tokens = {name: server.add_token(name, scopes, expires="never") for name, scopes in (("sam", "admin"), ("lena", "read,write"), ("gone", "read"))}
    server.said("token", "revoke", "gone")
    server.start()
    lena = server.client(tokens["lena"])
    lena.push((REPOSITORY / "testdata/golden/v3.genba").read_bytes(), "slices.genba", host="build-7")
    app = lena.push(Crafted().recording(), "app.genba", tags=("main", "build=7"))
    opened = lena.begin("open.genba", live=True)
    lena.append(opened, 0, Crafted(seed=7).recording()).expect(204)
    link = {"expires_ms": None, "needs_token": False, "fragment": "#view=flame"}
    codes = [lena.ask("POST", f"/api/recordings/{app['id']}/links", link).expect(201).json()["code"] for _ in range(2)]
    lena.ask("DELETE", f"/api/links/{codes[1]}").expect(204)
    server.client(tokens["sam"]).ask("PATCH", "/api/settings", {"keep_days": 36500}).expect(200)
    assert server.stop() == 0
    shutil.copytree(server.data, target / "data")
    (target / "tokens.txt").write_text("".join(f"{name} {token}\n" for name, token in tokens.items()))
    (target / "links.txt").write_text("".join(f"{code}\n" for code in codes))


if __name__ == "__main__":
    main()
