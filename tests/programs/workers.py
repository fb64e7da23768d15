"""Two workers by multiprocessing. argv: the start method. Prints pid: [function, CPU] of each."""

import json
import multiprocessing
import os
import sys
from time import process_time, process_time_ns


def work_of_worker(queue):
    total = 0
    end = process_time() + 1
    while process_time() < end:
        for number in range(10_000):
            total += number
    queue.put([os.getpid(), process_time_ns()])


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    queue = context.SimpleQueue()
    workers = [context.Process(target=work_of_worker, args=(queue,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    answers = dict(queue.get() for _ in workers)
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    print(json.dumps({pid: ["work_of_worker", cpu_ns] for pid, cpu_ns in answers.items()}))
