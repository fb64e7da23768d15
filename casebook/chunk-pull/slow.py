"""Each layer over one connection."""

from pull import main

main(1)
