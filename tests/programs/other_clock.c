/* A preloaded library with a false clock: two years back, and ten times as fast; and a listener at what genba calls. At the end it writes into the
   file of the variable CALLED, in a Python alone, whether it saw that library, how many threads were made, and which of these functions genba's library called. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include "preloaded.h"

enum { CLOCK, OPEN, OPEN64, OPENAT, READ, WRITE, PREAD, CLOSE, LSEEK, FCNTL, MMAP, MUNMAP, MPROTECT, MREMAP, READLINK, SYSCALL, GETPID, GETRUSAGE, COUNT };
static const char *const NAMES[COUNT] = {
    "clock_gettime", "open", "open64", "openat", "read", "write", "pread", "close", "lseek", "fcntl",
    "mmap", "munmap", "mprotect", "mremap", "readlink", "syscall", "getpid", "getrusage",
};
static volatile int called[COUNT];
static int threads;

/* Made by system calls alone: libc's functions are the ones of this file. */
static long (*real)(long, ...);

static void meet(int which, void *caller) {
    if (is_genba(caller)) called[which] = 1;
}
#define MEET(which) meet(which, __builtin_return_address(0))

static long kernel(long number, long a, long b, long c, long d, long e, long f) {
    if (!real) real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return real(number, a, b, c, d, e, f);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    MEET(CLOCK);
    int failed = kernel(SYS_clock_gettime, clock, (long)time, 0, 0, 0, 0);
    if (!failed && clock == CLOCK_REALTIME) time->tv_sec -= 63072000;
    else if (!failed) time->tv_sec *= 10;
    return failed;
}
int gettimeofday(struct timeval *time, void *zone) {
    int failed = kernel(SYS_gettimeofday, (long)time, (long)zone, 0, 0, 0, 0);
    time->tv_sec -= 63072000;
    return failed;
}
static int opened(int folder, const char *path, int flags, int mode) { return kernel(SYS_openat, folder, (long)path, flags, mode, 0, 0); }
#define MODE va_list more; va_start(more, flags); int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0; va_end(more)
int open(const char *path, int flags, ...) { MEET(OPEN); MODE; return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MEET(OPEN64); MODE; return opened(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MEET(OPENAT); MODE; return opened(folder, path, flags, mode); }
ssize_t read(int file, void *bytes, size_t count) { MEET(READ); return kernel(SYS_read, file, (long)bytes, count, 0, 0, 0); }
ssize_t write(int file, const void *bytes, size_t count) { MEET(WRITE); return kernel(SYS_write, file, (long)bytes, count, 0, 0, 0); }
ssize_t pread(int file, void *bytes, size_t count, off_t at) { MEET(PREAD); return kernel(SYS_pread64, file, (long)bytes, count, at, 0, 0); }
int close(int file) { MEET(CLOSE); return kernel(SYS_close, file, 0, 0, 0, 0, 0); }
off_t lseek(int file, off_t by, int from) { MEET(LSEEK); return kernel(SYS_lseek, file, by, from, 0, 0, 0); }
int fcntl(int file, int what, ...) {
    MEET(FCNTL);
    va_list more;
    va_start(more, what);
    long word = va_arg(more, long);
    va_end(more);
    return kernel(SYS_fcntl, file, what, word, 0, 0, 0);
}
void *mmap(void *at, size_t bytes, int access, int flags, int file, off_t from) { MEET(MMAP); return (void *)kernel(SYS_mmap, (long)at, bytes, access, flags, file, from); }
int munmap(void *at, size_t bytes) { MEET(MUNMAP); return kernel(SYS_munmap, (long)at, bytes, 0, 0, 0, 0); }
int mprotect(void *at, size_t bytes, int access) { MEET(MPROTECT); return kernel(SYS_mprotect, (long)at, bytes, access, 0, 0, 0); }
void *mremap(void *at, size_t bytes, size_t wanted, int flags, ...) { MEET(MREMAP); return (void *)kernel(SYS_mremap, (long)at, bytes, wanted, flags, 0, 0); }
ssize_t readlink(const char *path, char *bytes, size_t count) { MEET(READLINK); return kernel(SYS_readlink, (long)path, (long)bytes, count, 0, 0, 0); }
pid_t getpid(void) { MEET(GETPID); return kernel(SYS_getpid, 0, 0, 0, 0, 0, 0); }
int getrusage(__rusage_who_t who, struct rusage *usage) { MEET(GETRUSAGE); return kernel(SYS_getrusage, who, (long)usage, 0, 0, 0, 0); }
long syscall(long number, ...) {
    MEET(SYSCALL);
    va_list more;
    va_start(more, number);
    long words[6];
    for (int at = 0; at < 6; at++) words[at] = va_arg(more, long);
    va_end(more);
    return kernel(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    /* genba's wrapper hands the program's threads on from its own code: they are counted. */
    __atomic_add_fetch(&threads, 1, __ATOMIC_SEQ_CST);
    if (!next) next = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
    return next(thread, attributes, body, argument);
}

__attribute__((destructor)) static void told(void) {
    FILE *file = told_file();
    if (!file) return;
    fprintf(file, "%d %d\n", begin != 0, threads);
    for (int which = 0; which < COUNT; which++)
        if (called[which]) fprintf(file, "%s\n", NAMES[which]);
    fclose(file);
}
