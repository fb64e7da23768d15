/* A clock as on a machine without a vDSO for it: each reading makes system calls. Preloaded.
 * At the end it appends two numbers of nanoseconds of CPU to the file that SLOW_CLOCK_SPENT names: what was spent in its readings, but for the way
 * into the first call of each and the way out of the last one; and what one call of each reading took.
 * One reading in sixteen is timed. A look at the thread's CPU clock makes the kernel ask whether the thread's turn is over (docs/limits.md): looks in
 * each reading would draw samples to it, and what comes right behind the first look of a timed one is not counted. */
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
enum { TIMED_EACH = 16, LOOKS = 3 };

static long long readings, timed_ns, look_ns = 1000000;

static long long thread_ns(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int calls_of(clockid_t clock, struct timespec *now, int calls) {
    for (int again = 1; again < calls; again++)
        syscall(SYS_clock_gettime, clock, now);
    return (int)syscall(SYS_clock_gettime, clock, now);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (__atomic_add_fetch(&readings, 1, __ATOMIC_RELAXED) % TIMED_EACH)
        return calls_of(clock, now, READINGS);
    long long first = thread_ns();
    long long second = thread_ns();
    int result = calls_of(clock, now, READINGS - LOOKS);
    long long third = thread_ns();
    __atomic_fetch_add(&timed_ns, third - second, __ATOMIC_RELAXED);
    /* The least is what a look itself takes: nothing came between two of them. */
    if (second - first < __atomic_load_n(&look_ns, __ATOMIC_RELAXED))
        __atomic_store_n(&look_ns, second - first, __ATOMIC_RELAXED);
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
        long long timed = readings / TIMED_EACH;
        double calls = (double)timed * (READINGS - LOOKS);
        double call_ns = timed ? (timed_ns - timed * look_ns) / calls : 0;
        fprintf(file, "%.0f %.0f\n", readings * call_ns * (READINGS - 1), readings * call_ns);
        fclose(file);
    }
}
