/* The yardstick of `make bench`: what a sampler costs that does nothing. Preloaded into a Python; one thread signals, at each
   tick, every thread whose CPU clock moved, and the handler returns at once. It looks at no more threads than it must: those
   that ran at their last look, and sixteen others in turn; the list of threads is read again every 20 ms.
   EMPTY_HANDLER_INTERVAL_NS: time between two ticks. Owns: no more than that. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 4096
#define LIST_NS 20000000LL
#define OTHERS_PER_TICK 16
/* The number of a thread's CPU clock (clock_gettime(2)): any thread of the own process may be named. */
#define THREAD_CLOCK(tid) ((~(clockid_t)(tid) << 3) | 6)

struct seen {
    pid_t thread;
    long long cpu_ns;
    int ran;
};

static struct seen seen[THREADS_MAX];
static int count, next_other;
static long long interval_ns;
static pid_t own_process, own_thread;

static void empty_handler(int number, siginfo_t *from, void *context)
{
    (void)number;
    (void)from;
    (void)context;
}

static long long clock_ns(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) == 0 ? now.tv_sec * 1000000000LL + now.tv_nsec : -1;
}

/* Both lists are sorted by the kernel's order of threads, so that most are found where they were. */
static void read_list(DIR *tasks)
{
    static struct seen fresh[THREADS_MAX];
    struct dirent *entry;
    int found = 0, from = 0;
    rewinddir(tasks);
    while ((entry = readdir(tasks)) != NULL && found < THREADS_MAX) {
        pid_t thread = (pid_t)atoi(entry->d_name);
        if (thread <= 0 || thread == own_thread) {
            continue;
        }
        struct seen one = {thread, 0, 1};
        for (int tried = 0; tried < count; tried++) {
            int at = (from + tried) % count;
            if (seen[at].thread == thread) {
                one = seen[at];
                from = at + 1;
                break;
            }
        }
        fresh[found++] = one;
    }
    memcpy(seen, fresh, sizeof(seen[0]) * (size_t)found);
    count = found;
}

static void look(struct seen *one)
{
    long long now_ns = clock_ns(THREAD_CLOCK(one->thread));
    one->ran = now_ns > one->cpu_ns;
    if (one->ran) {
        one->cpu_ns = now_ns;
        syscall(SYS_tgkill, own_process, one->thread, SIGURG);
    }
}

static void *tick(void *unused)
{
    struct timespec next;
    long long listed_ns = 0;
    DIR *tasks = opendir("/proc/self/task");
    own_thread = (pid_t)syscall(SYS_gettid);
    prctl(PR_SET_NAME, "empty handler");
    clock_gettime(CLOCK_MONOTONIC, &next);
    while (tasks != NULL) {
        next.tv_nsec += interval_ns;
        while (next.tv_nsec >= 1000000000L) {
            next.tv_nsec -= 1000000000L;
            next.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        long long now_ns = clock_ns(CLOCK_MONOTONIC);
        if (now_ns - listed_ns >= LIST_NS) {
            listed_ns = now_ns;
            read_list(tasks);
        }
        int others = next_other;
        for (int at = 0; at < count; at++) {
            int in_turn = (at - others + count) % count < OTHERS_PER_TICK;
            if (seen[at].ran || in_turn) {
                look(&seen[at]);
            }
        }
        next_other = count ? (others + OTHERS_PER_TICK) % count : 0;
    }
    return unused;
}

__attribute__((constructor)) static void begin(void)
{
    struct sigaction action = {.sa_sigaction = empty_handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    const char *asked = getenv("EMPTY_HANDLER_INTERVAL_NS");
    sigset_t all, before;
    pthread_t thread;
    if (dlsym(RTLD_DEFAULT, "_PyRuntime") == NULL) {
        return;
    }
    own_process = getpid();
    interval_ns = asked != NULL ? atoll(asked) : 0;
    if (interval_ns <= 0 || sigaction(SIGURG, &action, NULL) != 0) {
        abort();
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, tick, NULL) != 0) {
        abort();
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
