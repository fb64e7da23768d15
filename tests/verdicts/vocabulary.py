"""What start_up.py imports: a module that computes for half a second while it is imported."""

LETTERS = sum(len(str(number)) for number in range(4_000_000))
