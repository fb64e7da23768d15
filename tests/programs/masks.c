/* Masks of threads, set and asked for in all the ways that libc has, and what becomes of SIGURG where the program blocks it. Prints what
   the program is told; SIGURG is bit 22. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static volatile double kept;

static void spin(double seconds)
{
    struct timespec now, until;
    double sum = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &until);
    double end = until.tv_sec + until.tv_nsec / 1e9 + seconds;
    do {
        for (long round = 1; round < 2000; round++) {
            sum += 1.0 / (double)round;
        }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec + now.tv_nsec / 1e9 < end);
    kept = sum;
}

static uint64_t told(void)
{
    sigset_t now;
    uint64_t mask;
    pthread_sigmask(SIG_BLOCK, 0, &now);
    memcpy(&mask, &now, sizeof mask);
    return mask;
}

static void tell(const char *after)
{
    printf("%s: %lx\n", after, (unsigned long)told());
}

static sigset_t of(uint64_t mask)
{
    sigset_t set;
    memset(&set, 0, sizeof set);
    memcpy(&set, &mask, sizeof mask);
    return set;
}

#define URG (1UL << 22)
#define OTHER (1UL << 16)
#define ALL 0xfffffffe7fffffffUL

typedef int (*Change)(int, const sigset_t *, sigset_t *);

static void change(const char *name, Change function, int how, uint64_t mask)
{
    sigset_t set = of(mask), old = of(ALL);
    uint64_t before;
    errno = 1234;
    int result = function(how, &set, &old);
    memcpy(&before, &old, sizeof before);
    printf("%s %d %lx: %d %d before %lx now %lx\n", name, how, (unsigned long)mask, result, errno,
           result == 0 ? (unsigned long)before : 0, (unsigned long)told());
}

/* Each of the three ways, one that is none, SIGURG alone, another alone, and all, from every state. */
void views(void)
{
    const uint64_t masks[] = {0, URG, OTHER, URG | OTHER, ALL};
    for (int from = 0; from < 5; from++) {
        for (int how = -1; how < 4; how++) {
            for (int to = 0; to < 5; to++) {
                for (int function = 0; function < 2; function++) {
                    sigset_t begin = of(masks[from]);
                    pthread_sigmask(SIG_SETMASK, &begin, 0);
                    spin(0.0002);
                    change(function ? "sigprocmask" : "pthread_sigmask", function ? sigprocmask : pthread_sigmask, how, masks[to]);
                    spin(0.0002);
                    tell("later");
                }
            }
        }
    }
    sigset_t same = of(ALL);
    pthread_sigmask(SIG_SETMASK, &same, &same);
    tell("one place for both");
    pthread_sigmask(SIG_SETMASK, &same, &same);
    tell("and back");
    printf("sigblock %x\n", (unsigned)sigblock(1 << 22));
    tell("sigblock");
    printf("sigsetmask %x\n", (unsigned)sigsetmask(1 << 16));
    tell("sigsetmask");
    printf("sighold %d %d\n", sighold(SIGURG), sighold(SIGUSR2));
    tell("sighold");
    printf("siggetmask %x\n", (unsigned)siggetmask());
    printf("sigrelse %d\n", sigrelse(SIGURG));
    tell("sigrelse");
    errno = 0;
    printf("no signal %d %d", sighold(65), sigrelse(0));
    printf(" %d\n", errno);
    printf("sigset %d\n", sigset(SIGURG, SIG_HOLD) == SIG_DFL);
    tell("sigset hold");
    printf("sigset %d\n", sigset(SIGURG, SIG_DFL) == SIG_HOLD);
    tell("sigset default");
    same = of(0);
    pthread_sigmask(SIG_SETMASK, &same, 0);
    fflush(stdout);
}

static volatile uint64_t in_handler[3];

/* What a handler does to the mask ends with it. */
static void changes_mask(int number)
{
    sigset_t all = of(ALL), old;
    in_handler[0] = told();
    pthread_sigmask(SIG_BLOCK, &all, &old);
    in_handler[1] = told();
    pthread_sigmask(SIG_SETMASK, &old, 0);
    in_handler[2] = told();
}

void handlers(void)
{
    for (int full = 0; full < 2; full++) {
        for (int blocked = 0; blocked < 2; blocked++) {
            struct sigaction action = {.sa_handler = changes_mask}, before;
            sigset_t set = of(blocked ? URG : 0);
            action.sa_mask = of(full ? ALL : 0);
            sigaction(SIGUSR1, &action, &before);
            pthread_sigmask(SIG_SETMASK, &set, 0);
            spin(0.001);
            raise(SIGUSR1);
            for (int at = 0; at < 3; at++) {
                printf("in the handler %lx\n", (unsigned long)in_handler[at]);
            }
            tell("after it");
            sigaction(SIGUSR1, &before, 0);
        }
    }
    sigset_t none = of(0);
    pthread_sigmask(SIG_SETMASK, &none, 0);
    fflush(stdout);
}

static void *tells(void *of_whom)
{
    spin(0.001);
    return (void *)told();
}

static void *makes(void *unused)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, 0, tells, 0);
    pthread_join(thread, &result);
    return result;
}

static int tells_c11(void *unused)
{
    return told() == ALL || told() == (ALL & ~(1UL << 8 | 1UL << 18)) ? 7 : 8;
}

static void *is_cancelled(void *unused)
{
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, 0);
    for (;;) {
        pause();
    }
}

static void *exits(void *value)
{
    pthread_exit(value);
}

#define CROWD 200

static void *waits_for_crowd(void *barrier)
{
    pthread_barrier_wait(barrier);
    return (void *)told();
}

/* Threads, their threads, many at once, and processes: all inherit what the program set. */
void heirs(int blocked)
{
    sigset_t set = of(blocked ? ALL : OTHER), old;
    pthread_t threads[CROWD];
    pthread_barrier_t barrier;
    void *result = 0;
    int status = 0;
    thrd_t c11;
    pthread_sigmask(SIG_SETMASK, &set, &old);
    spin(0.002);
    pthread_create(&threads[0], 0, tells, 0);
    pthread_join(threads[0], &result);
    printf("thread %lx\n", (unsigned long)result);
    pthread_create(&threads[0], 0, makes, 0);
    pthread_join(threads[0], &result);
    printf("its thread %lx\n", (unsigned long)result);
    thrd_create(&c11, tells_c11, 0);
    thrd_join(c11, &status);
    printf("thrd_create %d\n", status);
    pthread_create(&threads[0], 0, exits, (void *)42L);
    pthread_join(threads[0], &result);
    printf("exits %ld\n", (long)result);
    pthread_create(&threads[0], 0, is_cancelled, 0);
    spin(0.001);
    pthread_cancel(threads[0]);
    pthread_join(threads[0], &result);
    printf("cancelled %d\n", result == PTHREAD_CANCELED);
    pthread_barrier_init(&barrier, 0, CROWD);
    for (int at = 0; at < CROWD; at++) {
        pthread_create(&threads[at], 0, waits_for_crowd, &barrier);
    }
    long alike = 0;
    for (int at = 0; at < CROWD; at++) {
        pthread_join(threads[at], &result);
        alike += (uint64_t)result == told();
    }
    printf("crowd %ld\n", alike);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        spin(0.002);
        tell("forked");
        pthread_create(&threads[0], 0, tells, 0);
        pthread_join(threads[0], &result);
        printf("thread of the forked %lx\n", (unsigned long)result);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    char *const words[] = {"grep", "-E", "SigBlk|SigPnd", "/proc/self/status", 0};
    child = fork();
    if (child == 0) {
        execv("/bin/grep", words);
        _exit(9);
    }
    waitpid(child, &status, 0);
    printf("exec %d\n", status);
    fflush(stdout);
    posix_spawn(&child, "/bin/grep", 0, 0, words, environ);
    waitpid(child, &status, 0);
    posix_spawnp(&child, "grep", 0, 0, words, environ);
    waitpid(child, &status, 0);
    execv("/nowhere", words);
    tell("an exec that failed");
    spin(0.002);
    /* As subprocess does it: the child gives itself another mask, in the memory of its parent. */
    child = vfork();
    if (child == 0) {
        sigset_t none = of(0);
        pthread_sigmask(SIG_SETMASK, &none, 0);
        pthread_sigmask(SIG_BLOCK, 0, &none);
        execv("/bin/grep", words);
        _exit(9);
    }
    waitpid(child, &status, 0);
    tell("after vfork");
    child = vfork();
    if (child == 0) {
        sigset_t one = of(URG);
        pthread_sigmask(SIG_SETMASK, &one, 0);
        execv("/bin/grep", words);
        _exit(9);
    }
    waitpid(child, &status, 0);
    tell("after another");
    spin(0.002);
    pthread_sigmask(SIG_SETMASK, &old, 0);
    tell("at last");
    fflush(stdout);
}

static volatile int handled_by[2];
static volatile long handled;

static void on_urgent(int number, siginfo_t *info, void *context)
{
    handled_by[handled++ % 2] = (int)syscall(SYS_gettid);
}

static volatile int open_tid, blocking_tid, order;

static void *is_open(void *unused)
{
    open_tid = (int)syscall(SYS_gettid);
    __sync_fetch_and_add(&order, 1);
    while (order < 3) {
        spin(0.0005);
    }
    return 0;
}

/* Blocks all signals before there is a handler; sent SIGURG it keeps it, until it lets it through. */
static void *blocks(void *unused)
{
    sigset_t all = of(ALL), urgent = of(URG), pending;
    pthread_sigmask(SIG_BLOCK, &all, 0);
    blocking_tid = (int)syscall(SYS_gettid);
    __sync_fetch_and_add(&order, 1);
    while (order < 3) {
        spin(0.0005);
    }
    sigpending(&pending);
    printf("handled %ld pending %d\n", handled, sigismember(&pending, SIGURG));
    tell("still blocked");
    pthread_sigmask(SIG_UNBLOCK, &urgent, 0);
    printf("let through %ld by itself %d\n", handled, handled_by[(handled - 1) % 2] == blocking_tid);
    return 0;
}

/* The program takes SIGURG for itself while threads block it. */
void taken(void)
{
    struct sigaction action = {.sa_sigaction = on_urgent, .sa_flags = SA_SIGINFO | SA_RESTART}, told_back, old;
    sigset_t all = of(ALL), none = of(0);
    pthread_t one, other;
    pthread_create(&one, 0, is_open, 0);
    pthread_create(&other, 0, blocks, 0);
    while (order < 2) {
        spin(0.0005);
    }
    pthread_sigmask(SIG_BLOCK, &all, 0);
    spin(0.002);
    sigaction(SIGURG, &action, &old);
    sigaction(SIGURG, 0, &told_back);
    printf("before %d told %d flags %x\n", old.sa_handler == SIG_DFL, told_back.sa_sigaction == on_urgent,
           (unsigned)told_back.sa_flags);
    /* To the process: the one thread that does not block it gets it. */
    kill(getpid(), SIGURG);
    while (handled < 1) {
        spin(0.0005);
    }
    printf("by the open one %d\n", handled_by[0] == open_tid);
    syscall(SYS_tgkill, getpid(), blocking_tid, SIGURG);
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGURG);
    spin(0.002);
    printf("blocked %ld\n", handled);
    __sync_fetch_and_add(&order, 1);
    pthread_join(one, 0);
    pthread_join(other, 0);
    pthread_sigmask(SIG_SETMASK, &none, 0);
    printf("then this one's %ld %d\n", handled, handled_by[(handled - 1) % 2] == (int)getpid());
    signal(SIGURG, SIG_DFL);
    kill(getpid(), SIGURG);
    printf("given back %ld\n", handled);
    fflush(stdout);
}

static void *waits(void *set)
{
    siginfo_t info;
    int number = sigwaitinfo(set, &info);
    printf("waited for %d %d\n", number, info.si_code);
    return 0;
}

/* All threads block all signals, one waits for them: each signal for the process comes to that one. */
void waited_for(void)
{
    sigset_t all = of(ALL), none = of(0);
    pthread_t waiter, other;
    pthread_sigmask(SIG_BLOCK, &all, 0);
    const int numbers[] = {SIGURG, SIGUSR1, SIGURG};
    for (int at = 0; at < 3; at++) {
        pthread_create(&other, 0, tells, 0);
        spin(0.002);
        pthread_create(&waiter, 0, waits, &all);
        kill(getpid(), numbers[at]);
        pthread_join(waiter, 0);
        pthread_join(other, 0);
    }
    /* Nobody waits: it stays until somebody does. */
    kill(getpid(), SIGURG);
    spin(0.002);
    waits(&all);
    pthread_sigmask(SIG_SETMASK, &none, 0);
    fflush(stdout);
}

/* The same from a descriptor; the wait for it is not interrupted. */
void read_from_descriptor(void)
{
    sigset_t all = of(ALL), none = of(0);
    struct signalfd_siginfo info;
    pthread_t other;
    pthread_sigmask(SIG_BLOCK, &all, 0);
    spin(0.002);
    int descriptor = signalfd(-1, &all, 0);
    pthread_create(&other, 0, tells, 0);
    pthread_join(other, 0);
    kill(getpid(), SIGURG);
    struct pollfd file = {descriptor, POLLIN, 0};
    int ready = poll(&file, 1, 10000);
    ssize_t bytes = read(descriptor, &info, sizeof info);
    printf("descriptor: %d %d %d\n", ready, bytes == sizeof info, info.ssi_signo);
    tell("with a descriptor");
    close(descriptor);
    pthread_sigmask(SIG_SETMASK, &none, 0);
    fflush(stdout);
}

static void *spins_blocked(void *all)
{
    pthread_sigmask(SIG_SETMASK, all, 0);
    spin(0.3);
    return 0;
}

/* A thread of C alone that blocks all signals and computes. */
void spin_blocked(void)
{
    sigset_t all = of(ALL);
    pthread_t thread;
    pthread_create(&thread, 0, spins_blocked, &all);
    pthread_join(thread, 0);
}
