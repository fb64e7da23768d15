"""Large rows go through a queue between processes, and are pickled both ways."""

import multiprocessing
import sys


def worker(questions, answers):
    while (rows := questions.get()) is not None:
        answers.put([{**row, "done": True} for row in rows])


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    questions, answers = context.Queue(), context.Queue()
    process = context.Process(target=worker, args=(questions, answers))
    process.start()
    rows = [{"id": number, "name": f"name {number}", "values": list(range(10))} for number in range(3000)]
    for _ in range(int(sys.argv[1])):
        questions.put(rows)
        answers.get()
    questions.put(None)
    process.join()
