"""Threads that wake often and do next to nothing: dear to look at. argv: threads, how often each one wakes."""

import json
import sys
import threading
import time


def wake_often(times, done):
    for _ in range(times):
        time.sleep(0.0005)
    done.append(times)


def main(threads, times):
    done, crowd = [], []
    for _ in range(threads):
        crowd.append(threading.Thread(target=wake_often, args=(times, done)))
        crowd[-1].start()
    for thread in crowd:
        thread.join()
    print(json.dumps({"answer": [len(done), sum(done)], "cpu_ns": time.process_time_ns()}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
