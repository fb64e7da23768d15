/* Lets a word of the interpreter point elsewhere for so many nanoseconds of the thread's CPU, while the thread runs. */
#include <time.h>

static inline __attribute__((always_inline)) long spin_with(void *volatile *slot, void *value, long long cpu_ns)
{
    void *true_value = *slot;
    struct timespec now;
    long long start_ns = -1, now_ns = 0;
    *slot = value;
    do {
        for (volatile int turn = 0; turn < 2000; turn++) {
        }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        now_ns = now.tv_sec * 1000000000LL + now.tv_nsec;
        if (start_ns < 0) {
            start_ns = now_ns;
        }
    } while (now_ns - start_ns < cpu_ns);
    *slot = true_value;
    return 1;
}

/* One function for each pointer, so that the stacks tell which one led astray. */
long stale_state(void *volatile *slot, void *value, long long cpu_ns)
{
    return spin_with(slot, value, cpu_ns) + 0;
}

long stale_previous(void *volatile *slot, void *value, long long cpu_ns)
{
    return spin_with(slot, value, cpu_ns) + 1;
}

long stale_code(void *volatile *slot, void *value, long long cpu_ns)
{
    return spin_with(slot, value, cpu_ns) + 2;
}
