// Recurses, throws, and catches: Python is called at the bottom, from destructors while the stack unwinds, and from the
// handler that caught. A library for ctypes.

#include <stdexcept>

namespace {

using Callback = long (*)(long);

struct Unwinds {
    Callback callback;
    long depth;
    // noexcept(false) is not needed: Python's errors do not come through ctypes.
    ~Unwinds() {
        if (depth % 8 == 0) callback(20);
    }
};

long recurse(Callback callback, long depth) {
    Unwinds unwinds{callback, depth};
    if (depth == 0) {
        callback(20);
        throw std::runtime_error("the end");
    }
    return recurse(callback, depth - 1) + 1;
}

}  // namespace

extern "C" long throw_through(Callback callback, long depth) {
    try {
        return recurse(callback, depth);
    } catch (const std::runtime_error &) {
        return callback(20);
    }
}
