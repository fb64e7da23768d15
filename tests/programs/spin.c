/* Spins for so many nanoseconds of the thread's CPU with a known errno, and counts how often it was not that any more. */
#include <errno.h>
#include <time.h>

long errno_changes(long long cpu_ns)
{
    struct timespec now;
    long long start_ns = -1, now_ns = 0;
    long changes = 0;
    do {
        /* No call in here: whatever changes errno between these two lines is not this program. */
        errno = 1234;
        for (volatile int turn = 0; turn < 20000; turn++) {
        }
        changes += errno != 1234;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        now_ns = now.tv_sec * 1000000000LL + now.tv_nsec;
        if (start_ns < 0) {
            start_ns = now_ns;
        }
    } while (now_ns - start_ns < cpu_ns);
    return changes;
}
