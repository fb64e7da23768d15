/* A clock as on a machine without a vDSO for it: each reading makes system calls. Preloaded. */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { READINGS = 10 };

int clock_gettime(clockid_t clock, struct timespec *now) {
    for (int again = 1; again < READINGS; again++)
        syscall(SYS_clock_gettime, clock, now);
    return (int)syscall(SYS_clock_gettime, clock, now);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    for (int again = 1; again < READINGS; again++)
        syscall(SYS_gettimeofday, now, zone);
    return (int)syscall(SYS_gettimeofday, now, zone);
}
