"""Pulls `shop/app` into a folder: pull.py CHUNKS [BYTES]. With BYTES the process ends in the middle, as one that is killed."""

import os
import shutil
import sys
import threading
import time
from pathlib import Path

from image import pull

FOLDER = Path("pulled")


def cut_at(limit: int) -> None:
    while sum(os.stat(part).st_blocks * 512 for part in FOLDER.glob("*") if part.suffix != ".done") < limit:
        time.sleep(0.005)
    os._exit(9)


def main(chunks: int, cut_bytes: int | None = None) -> None:
    if not list(FOLDER.glob("*.part")):
        shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(exist_ok=True)
    if cut_bytes is not None:
        threading.Thread(target=cut_at, args=(cut_bytes,), daemon=True).start()
    begin = time.monotonic()
    layers, size, resumed = pull("shop/app", FOLDER, chunks)
    there = f", {resumed / 1e6:.1f} MB were there" if resumed else ""
    print(f"{layers} layers, {size / 1e6:.1f} MB, digests verified, in chunks: {chunks}{there}; {time.monotonic() - begin:.2f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
