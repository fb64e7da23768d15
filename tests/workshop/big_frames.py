"""Writes a program whose functions have 1,800 local variables each, more than one chunk of the interpreter's frame stack
holds. Generated, because nobody reads 3,600 names. Owns: its text, with the notes that stacks.py reads."""

LOCALS = 1800

FAMILY = '''
def work{end}(count):
    total = 0
    for number in range(count):
        total += number
    return total


def wide{end}(count):
    {names} = count
    total = work{end}({last})  # calls: work{end}
    return total + wider{end}({last})  # calls: wider{end}


def wider{end}(count):
    {names} = count
    return work{end}({last})  # calls: work{end}

'''

MAIN = '''
def main(cpu_seconds):
    while process_time() < cpu_seconds:
        for _ in range(100):
            wide_a(100)  # calls: wide_a
            wide_b(100)  # calls: wide_b


if __name__ == "__main__":
    main(float(sys.argv[1]))  # calls: main
'''


def program_text() -> str:
    names = " = ".join(f"local_{number}" for number in range(LOCALS))
    families = "".join(FAMILY.format(end=end, names=names, last=f"local_{LOCALS - 1}") for end in ("_a", "_b"))
    return f"# families: _a _b\nimport sys\nfrom time import process_time\n{families}{MAIN}"
