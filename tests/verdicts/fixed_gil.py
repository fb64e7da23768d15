"""gil.py, with the same eight pieces of work in processes."""

import sys
from concurrent.futures import ProcessPoolExecutor

from gil import score

if __name__ == "__main__":
    with ProcessPoolExecutor() as pool:
        list(pool.map(score, [int(sys.argv[1])] * 8))
