"""Pools whose `with` block ends by SIGTERM what their workers still do. Prints the process clock of each worker when it last had something to
compute: between two blocks of its recording.
"""

import json
import multiprocessing
import os
import signal
import sys
import time


def set_told(queue):
    global told
    told = queue


def work_of_worker(_):
    until = time.process_time() + 0.2
    while time.process_time() < until:
        sum(range(100))
    told.put((os.getpid(), time.process_time_ns()))
    # A worker without a task would take the pool's request to end by itself.
    signal.pause()


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    clocks = {}
    for _ in range(3):
        queue = context.SimpleQueue()
        with context.Pool(2, set_told, [queue]) as pool:
            pool.map_async(work_of_worker, range(2), chunksize=1)
            clocks |= [queue.get(), queue.get()]
    print(json.dumps(clocks))
