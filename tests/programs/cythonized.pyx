# cython: language_level=3
# Functions of C that call each other and Python; one is a cdef function, one a generator.

cdef long spend(long count):
    cdef long total = 0, number
    for number in range(count):
        total += number * number
    return total

cdef object through_c(object function, long count, long depth):
    if depth == 0:
        return function(count) + spend(count)
    return through_c(function, count, depth - 1)

def call(function, long count):
    return through_c(function, count, 5)

def generate(function, long count):
    for _ in range(3):
        yield through_c(function, count, 2)
