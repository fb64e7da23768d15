/* Signal handlers set in all the ways that libc has, alternate stacks and thread stacks as small as they may be, and signals that look
   nearly like genba's. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile long counts[65];
static volatile double kept;

static void on_signal(int number)
{
    counts[number]++;
}

static void on_signal_with_info(int number, siginfo_t *info, void *context)
{
    counts[number]++;
}

/* One line: who handles the signal, with which flags and mask, as the program is told. */
static void tell(int number, const char *after)
{
    struct sigaction now;
    unsigned long mask;
    memset(&now, 0, sizeof now);
    sigaction(number, 0, &now);
    memcpy(&mask, &now.sa_mask, sizeof mask);
    const char *who = now.sa_handler == SIG_DFL                                    ? "default"
                      : now.sa_handler == SIG_IGN                                  ? "ignored"
                      : now.sa_handler == on_signal                                ? "on_signal"
                      : now.sa_sigaction == (void (*)(int, siginfo_t *, void *))on_signal_with_info ? "with_info"
                                                                                   : "strange";
    printf("%d %s: %s flags %x mask %lx restorer %d came %ld\n", number, after, who, (unsigned)now.sa_flags, mask,
           now.sa_restorer != 0, counts[number]);
}

static const char *name_of(void (*handler)(int))
{
    return handler == SIG_DFL     ? "default"
           : handler == SIG_IGN   ? "ignored"
           : handler == SIG_HOLD  ? "held"
           : handler == SIG_ERR   ? "error"
           : handler == on_signal ? "on_signal"
                                  : "strange";
}

extern void (*bsd_signal(int, void (*)(int)))(int);

/* Sets and asks in every way; prints what the program is told. Ends with the default action. */
void views(int number)
{
    struct sigaction action;
    sigset_t one;
    tell(number, "at first");
    printf("signal: %s\n", name_of(signal(number, on_signal)));
    raise(number);
    tell(number, "signal");
    printf("signal: %s\n", name_of(signal(number, SIG_IGN)));
    tell(number, "signal ignore");
    printf("bsd_signal: %s\n", name_of(bsd_signal(number, on_signal)));
    tell(number, "bsd_signal");
    printf("sysv_signal: %s\n", name_of(sysv_signal(number, on_signal)));
    tell(number, "sysv_signal");
    raise(number);
    tell(number, "sysv_signal, once used");
    siginterrupt(number, 1);
    tell(number, "siginterrupt 1");
    signal(number, SIG_DFL);
    tell(number, "signal default, interrupting");
    siginterrupt(number, 0);
    tell(number, "siginterrupt 0");
    printf("sigset: %s\n", name_of(sigset(number, on_signal)));
    tell(number, "sigset");
    printf("sigset hold: %s\n", name_of(sigset(number, SIG_HOLD)));
    tell(number, "sigset hold");
    printf("sigset: %s\n", name_of(sigset(number, SIG_DFL)));
    tell(number, "sigset default");
    sigignore(number);
    tell(number, "sigignore");
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_signal_with_info;
    action.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER;
    sigfillset(&action.sa_mask);
    sigaction(number, &action, 0);
    tell(number, "sigaction once, full mask");
    raise(number);
    tell(number, "used");
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    sigfillset(&action.sa_mask);
    sigaction(number, &action, 0);
    tell(number, "sigaction default with flags");
    sigemptyset(&one);
    sigaddset(&one, number);
    printf("errors: %d %d\n", signal(number, SIG_ERR) == SIG_ERR, sigaction(65, &action, 0));
    signal(number, SIG_DFL);
    tell(number, "at last");
    fflush(stdout);
}

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

#define CANARY_BYTES 16384
static size_t alternate_bytes;
static double spin_seconds;

/* Spins with an alternate stack between two canaries; the result counts the bytes of them that changed. */
static void *with_alternate_stack(void *unused)
{
    size_t bytes = CANARY_BYTES + alternate_bytes + CANARY_BYTES;
    unsigned char *area = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long changed = 0;
    memset(area, 0x5a, bytes);
    stack_t stack = {.ss_sp = area + CANARY_BYTES, .ss_size = alternate_bytes};
    if (sigaltstack(&stack, 0) != 0) {
        return (void *)-1L;
    }
    spin(spin_seconds);
    for (size_t at = 0; at < bytes; at++) {
        if (at < CANARY_BYTES || at >= CANARY_BYTES + alternate_bytes) {
            changed += area[at] != 0x5a;
        }
    }
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, 0);
    return (void *)changed;
}

static void *only_spin(void *unused)
{
    spin(spin_seconds);
    return 0;
}

/* A thread with an alternate stack of so many bytes. 0: nothing around it was written. */
long alternate_stack(long bytes, double seconds)
{
    pthread_t thread;
    void *result = (void *)-2L;
    alternate_bytes = (size_t)bytes;
    spin_seconds = seconds;
    pthread_create(&thread, 0, with_alternate_stack, 0);
    pthread_join(thread, &result);
    return (long)result;
}

/* A thread with the smallest stack there may be. 0: it ran to its end. */
long small_thread(long bytes, double seconds)
{
    pthread_t thread;
    pthread_attr_t attributes;
    void *result = (void *)-2L;
    spin_seconds = seconds;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, (size_t)bytes) != 0) {
        return -3;
    }
    if (pthread_create(&thread, &attributes, only_spin, 0) != 0) {
        return -4;
    }
    pthread_join(thread, &result);
    return (long)result;
}

/* Signals of genba's number, to this thread and this process, with values that could be tickets. */
void strange(long count)
{
    siginfo_t info;
    uint64_t value = 88172645463325252ULL;
    for (long turn = 0; turn < count; turn++) {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
        memset(&info, 0, sizeof info);
        info.si_signo = SIGURG;
        info.si_code = turn % 3 == 0 ? SI_QUEUE : turn % 3 == 1 ? -0x6762 : -60;
        info.si_pid = turn % 5 == 0 ? 1 : getpid();
        info.si_value.sival_ptr = (void *)(turn % 2 ? (uint64_t)turn : value);
        if (turn % 7) {
            syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGURG, &info);
        } else {
            syscall(SYS_rt_sigqueueinfo, getpid(), SIGURG, &info);
        }
        sigqueue(getpid(), SIGURG, info.si_value);
        spin(0.00002);
    }
}
