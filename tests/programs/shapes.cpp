// A library in C++ for the tests of names: overloads, a template, a lambda's worth of inlined functions. Driven by ctypes.
// Built with -O2 -g and without the C++ runtime. Lines between `begin NAME` and `end NAME` are the body of NAME.

namespace shapes {

// Of a function that no other file can call, debug information has the bare name.
__attribute__((always_inline)) static inline unsigned long twist(unsigned long seed) {
    // begin twist
    for (int round = 0; round < 64; round++)
        seed = (seed ^ (seed >> 13)) * 0x9e3779b97f4a7c15ul + 1;
    return seed;
    // end twist
}

__attribute__((always_inline)) inline unsigned long fold(unsigned long seed) {
    // begin fold
    return twist(seed) + (seed & 1);
    // end fold
}

template <typename Number> __attribute__((noinline)) Number turn(Number turns) {
    // begin turn
    unsigned long seed = 7;
    for (Number done = 0; done < turns; done++)
        seed = fold(seed);
    return Number(seed & 0xffff);
    // end turn
}

struct Shape {
    unsigned long sides;
    __attribute__((noinline)) unsigned long area(unsigned long turns) const;
    __attribute__((noinline)) unsigned long area(double turns) const;
};

unsigned long Shape::area(unsigned long turns) const { return turn(turns) + sides; }
unsigned long Shape::area(double turns) const { return (unsigned long)(turn(turns)) + sides; }

}  // namespace shapes

extern "C" unsigned long area_of_whole(unsigned long turns) { return shapes::Shape{4}.area(turns) + 1; }
extern "C" unsigned long area_of_real(double turns) { return shapes::Shape{3}.area(turns) + 1; }
