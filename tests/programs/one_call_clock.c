/* A clock as on a machine whose clock source has no vDSO: each reading is one system call. Preloaded. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) { return (int)syscall(SYS_clock_gettime, clock, now); }

int gettimeofday(struct timeval *restrict now, void *restrict zone) { return (int)syscall(SYS_gettimeofday, now, zone); }
