"""The same, with the form that reads the words where they lie."""

import slow

if __name__ == "__main__":
    slow.main(slow.joined.in_place)
