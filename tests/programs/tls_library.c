/* A library with thread-local storage, built many times under different names. MODEL: initial-exec takes from the room that the
 * loader keeps for libraries opened late. */
static __thread int counter __attribute__((tls_model(MODEL)));
static __thread char room[64] __attribute__((tls_model(MODEL)));

int count(int times) {
    for (int i = 0; i < times; i++) {
        counter += 1;
        room[i & 63] = (char)counter;
    }
    return counter;
}
