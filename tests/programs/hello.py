"""Says hello, and leaves a file behind as proof that it ran. argv: the file."""

import sys

with open(sys.argv[1], "w") as proof:
    proof.write("ran")
print("hello")
