/* Handlers that ask for SA_ONSTACK, and the alternate stacks that the program gives its threads: where the handlers run, and what
   `sigaltstack` answers. One case, on this thread and on another. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEEP_BYTES (200 * 1024)
#define LARGE_BYTES 65536
/* Too small for genba, and large enough for two handlers that print. */
#define SMALL_BYTES 15360
#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

static __thread char *area;
static __thread sigjmp_buf back;
static __thread volatile int ran;
static volatile int alarms;
static const char *name;

static int on_own_stack(const char *at)
{
    pthread_attr_t attributes;
    void *lowest;
    size_t bytes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &lowest, &bytes);
    pthread_attr_destroy(&attributes);
    return at >= (char *)lowest && at < (char *)lowest + bytes;
}

static const char *place_of(const char *at)
{
    if (area && at >= area && at < area + LARGE_BYTES) {
        return "alternate stack";
    }
    return on_own_stack(at) ? "own stack" : "elsewhere";
}

static void tell(const char *when)
{
    stack_t now;
    int result = sigaltstack(0, &now);
    printf("%s: %d, %s, flags %d, %zu bytes\n", when, result, now.ss_sp == area && area ? "ours" : now.ss_sp ? "other" : "none",
           now.ss_flags, now.ss_size);
}

static int set(size_t bytes, int flags)
{
    if (!area) {
        area = mmap(0, LARGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    stack_t new = {.ss_sp = area, .ss_size = bytes, .ss_flags = flags}, old;
    errno = 0;
    int result = sigaltstack(&new, &old);
    printf("set %zu bytes, flags %d: %d, %s; before %d, %zu bytes\n", bytes, flags, result, result ? strerror(errno) : "fine",
           result ? 0 : old.ss_flags, result ? 0 : old.ss_size);
    return result;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    char here;
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, 0, &mask);
    printf("signal %d from %d in %s, masked %d %d\n", number, info->si_pid == getpid(), place_of(&here), sigismember(&mask, number),
           sigismember(&mask, SIGUSR2));
}

static void on_urgent(int number, siginfo_t *info, void *context)
{
    on_signal(number, info, context);
    ran++;
}

static void deep(int number)
{
    char block[DEEP_BYTES];
    memset(block, number, sizeof block);
    printf("deep handler from %s to %s\n", place_of(block + sizeof block - 1), place_of(block));
}

static void changes(int number)
{
    tell("in the handler");
    set(LARGE_BYTES, 0);
    set(0, SS_DISABLE);
    set(SMALL_BYTES, 0);
    tell("at its end");
}

static void nests(int number)
{
    char here;
    printf("signal %d in %s\n", number, place_of(&here));
    tell("in the handler");
    if (number == SIGUSR1) {
        raise(SIGUSR2);
    }
}

static void jumps(int number)
{
    ran++;
    siglongjmp(back, 1);
}

static void counts(int number)
{
    alarms++;
}

static void handle(int number, void *handler, int flags)
{
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_ONSTACK | flags;
    sigaddset(&action.sa_mask, SIGUSR2);
    sigaction(number, &action, 0);
    sigaction(number, 0, &old);
    printf("handler %d is %s, flags %x\n", number, (void *)old.sa_sigaction == handler ? "the same" : "another", old.sa_flags & ~0x04000000);
}

/* A sum in registers that a moved frame would lose: the handlers come every 0.2 ms. */
static void sums(void)
{
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    double parts[8] = {0};
    setitimer(ITIMER_REAL, &often, 0);
    for (long round = 1; round < 30000000; round++) {
        for (int part = 0; part < 8; part++) {
            parts[part] += 1.0 / (double)(round + part);
        }
    }
    setitimer(ITIMER_REAL, &never, 0);
    for (int part = 0; part < 8; part++) {
        printf("%.17g\n", parts[part]);
    }
    printf("handlers ran: %d\n", alarms > 0);
}

static void one(void)
{
    if (!strcmp(name, "none")) {
        handle(SIGUSR1, on_signal, SA_SIGINFO);
        raise(SIGUSR1);
        handle(SIGSEGV, on_signal, SA_SIGINFO);
        raise(SIGSEGV);
        handle(SIGURG, on_urgent, SA_SIGINFO | SA_RESETHAND);
        raise(SIGURG);
        raise(SIGURG);
        handle(SIGUSR1, deep, 0);
        raise(SIGUSR1);
    } else if (!strcmp(name, "large") || !strcmp(name, "small")) {
        size_t bytes = *name == 'l' ? LARGE_BYTES : SMALL_BYTES;
        tell("first");
        handle(SIGUSR1, nests, SA_NODEFER);
        handle(SIGUSR2, changes, 0);
        set(bytes, 0);
        tell("set");
        raise(SIGUSR1);
        tell("after it");
        set(0, SS_DISABLE);
        tell("disabled");
        raise(SIGUSR1);
        tell("after it");
        handle(SIGUSR1, deep, 0);
        raise(SIGUSR1);
    } else if (!strcmp(name, "changes")) {
        /* A thread that never had one: the kernel does not take back what its first handler sets. */
        set(LARGE_BYTES, 0);
        set(0, SS_DISABLE);
        handle(SIGUSR1, changes, 0);
        for (int round = 0; round < 3; round++) {
            raise(SIGUSR1);
            tell("after it");
        }
    } else if (!strcmp(name, "refused")) {
        for (int round = 0; round < 3; round++) {
            set(100, 0);
            set(LARGE_BYTES, 77);
            set(round == 1 ? SMALL_BYTES : LARGE_BYTES, round == 2 ? SS_AUTODISARM : 0);
            tell("set");
        }
    } else if (!strcmp(name, "jumps")) {
        handle(SIGUSR1, jumps, SA_NODEFER);
        for (int round = 0; round < 1000; round++) {
            if (!sigsetjmp(back, 1)) {
                raise(SIGUSR1);
            }
        }
        printf("%d times\n", ran);
    } else if (!strcmp(name, "once")) {
        handle(SIGCHLD, on_signal, SA_SIGINFO | SA_RESETHAND);
        raise(SIGCHLD);
        raise(SIGCHLD);
        printf("then it is %d\n", signal(SIGCHLD, (void *)counts) == SIG_DFL);
        printf("counts %d\n", signal(SIGCHLD, SIG_DFL) == (void *)counts);
    } else if (!strcmp(name, "forks")) {
        handle(SIGUSR1, deep, 0);
        set(SMALL_BYTES, 0);
        fflush(stdout);
        if (fork() == 0) {
            tell("in the child");
            set(0, SS_DISABLE);
            raise(SIGUSR1);
            fflush(stdout);
            _exit(0);
        }
        wait(0);
        if (vfork() == 0) {
            execl("/bin/sh", "sh", "-c", "kill -USR1 $$", (char *)0);
        }
        int status;
        wait(&status);
        printf("the other program died of %d\n", WTERMSIG(status));
        tell("in the parent");
        printf("%d\n", system("exit 3"));
        set(0, SS_DISABLE);
        raise(SIGUSR1);
    } else if (!strcmp(name, "sums")) {
        handle(SIGALRM, counts, 0);
        sums();
    }
    signal(SIGUSR1, SIG_DFL);
    signal(SIGUSR2, SIG_DFL);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGURG, SIG_DFL);
    fflush(stdout);
}

static void *on_thread(void *unused)
{
    one();
    return 0;
}

long overflow(long depth)
{
    volatile char block[1024];
    block[0] = (char)depth;
    return overflow(depth + 1) + block[0];
}

/* A stack that the program brings: a guard of its own at the low end, above it what it keeps there itself (coroutines, an allocator). */
void run_on_own_memory(const char *which, long stack_bytes)
{
    enum { GUARD_BYTES = 4096, KEPT_BYTES = 96 * 1024 };
    pthread_t thread;
    pthread_attr_t attributes;
    char *memory = mmap(0, (size_t)stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long changed = 0;
    name = which;
    mprotect(memory, GUARD_BYTES, PROT_NONE);
    memset(memory + GUARD_BYTES, 'k', KEPT_BYTES);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory, (size_t)stack_bytes);
    pthread_create(&thread, &attributes, on_thread, 0);
    pthread_join(thread, 0);
    for (long at = GUARD_BYTES; at < GUARD_BYTES + KEPT_BYTES; at++) {
        changed += memory[at] != 'k';
    }
    printf("%ld bytes changed\n", changed);
    fflush(stdout);
}

void run(const char *which, long stack_bytes)
{
    pthread_t thread;
    pthread_attr_t attributes;
    name = which;
    one();
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)stack_bytes);
    pthread_create(&thread, &attributes, on_thread, 0);
    pthread_join(thread, 0);
}
