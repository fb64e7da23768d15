/* A clock as on a machine without a vDSO for it: each reading makes system calls. Preloaded.
 * At the end it appends two numbers of nanoseconds of CPU to the file that SLOW_CLOCK_SPENT names: what was spent in its readings, but for the way
 * into the first call of each and the way out of the last one; and what one call of each took, from one look at the clock to the next. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef READINGS
#define READINGS 10
#endif
/* The others take the thread's CPU time: two before those that count, one behind them. */
enum { COUNTED = READINGS - 3 };

static long long spent_ns, call_ns;

static long long thread_ns(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = 0;
    long long first = thread_ns();
    long long second = thread_ns();
    for (int again = 0; again < COUNTED; again++)
        result = (int)syscall(SYS_clock_gettime, clock, now);
    __atomic_fetch_add(&spent_ns, thread_ns() - first, __ATOMIC_RELAXED);
    __atomic_fetch_add(&call_ns, second - first, __ATOMIC_RELAXED);
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    for (int again = 1; again < READINGS; again++)
        syscall(SYS_gettimeofday, now, zone);
    return (int)syscall(SYS_gettimeofday, now, zone);
}

static void __attribute__((destructor)) tell(void) {
    const char *path = getenv("SLOW_CLOCK_SPENT");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "%lld %lld\n", spent_ns, call_ns);
        fclose(file);
    }
}
