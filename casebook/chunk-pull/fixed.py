"""Each layer in eight chunks."""

from pull import main

main(8)
