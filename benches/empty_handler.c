/* The yardstick of `make bench`: what a sampler costs that does nothing. Preloaded into a Python; one thread signals the
   main thread once a millisecond if its CPU clock moved, and the handler returns at once. Owns: no more than that. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_NS 1000000L

static pid_t program_thread;
static clockid_t program_clock;

static void empty_handler(int number, siginfo_t *from, void *context)
{
    (void)number;
    (void)from;
    (void)context;
}

static long long clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void *tick(void *unused)
{
    struct timespec next;
    long long last_ns = 0;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (;;) {
        next.tv_nsec += INTERVAL_NS;
        if (next.tv_nsec >= 1000000000L) {
            next.tv_nsec -= 1000000000L;
            next.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        long long moved_ns = clock_ns(program_clock);
        if (moved_ns != last_ns) {
            last_ns = moved_ns;
            syscall(SYS_tgkill, getpid(), program_thread, SIGURG);
        }
    }
    return unused;
}

__attribute__((constructor)) static void begin(void)
{
    struct sigaction action = {.sa_sigaction = empty_handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigset_t all, before;
    pthread_t thread;
    if (dlsym(RTLD_DEFAULT, "_PyRuntime") == NULL) {
        return;
    }
    program_thread = (pid_t)syscall(SYS_gettid);
    if (pthread_getcpuclockid(pthread_self(), &program_clock) != 0 || sigaction(SIGURG, &action, NULL) != 0) {
        abort();
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, tick, NULL) != 0) {
        abort();
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
