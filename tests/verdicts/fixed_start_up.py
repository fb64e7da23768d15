"""start_up.py, with each import in the function that needs it."""

import sys


def letters():
    import vocabulary

    return vocabulary.LETTERS


def main():
    print(letters() if "letters" in sys.argv else 14)


if __name__ == "__main__":
    main()
