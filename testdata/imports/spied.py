"""The program of py-spy.txt: `py-spy record --rate 200 --format raw -o py-spy.txt -- python spied.py`."""


def inner(n):
    return sum(i * i for i in range(n))


def main():
    for _ in range(60):
        inner(40_000)
        sorted(range(60_000), key=lambda i: -i)


main()
