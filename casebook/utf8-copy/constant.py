"""The yardstick: the same server with an answer that is there already. No form of the function can make it faster than this."""

import slow

ANSWER = slow.joined.in_place(slow.WORDS)

if __name__ == "__main__":
    slow.serve(lambda words: ANSWER)
