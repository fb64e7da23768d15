/* Handlers for SIGSEGV and SIGBUS that look at everything the kernel gives them: mask, stack, siginfo, registers, errno, flags; faults while they
   run, while they are blocked, while they are ignored; jumps out of them. Prints what it sees. */
#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int turns;
static sigjmp_buf back;
static char *page;
static char *alternate;
static size_t alternate_bytes = 65536;
static volatile int resume_by_jump;
static volatile double kept;

static unsigned long word(const sigset_t *set)
{
    unsigned long first;
    memcpy(&first, set, sizeof first);
    return first;
}

static unsigned long mask_now(void)
{
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, 0, &now);
    return word(&now);
}

static void spin(double seconds)
{
    struct timespec now;
    double sum = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    double end = now.tv_sec + now.tv_nsec / 1e9 + seconds;
    do {
        for (long round = 1; round < 2000; round++) {
            sum += 1.0 / (double)round;
        }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec + now.tv_nsec / 1e9 < end);
    kept = sum;
}

static void tell(const char *who, int number, siginfo_t *info, ucontext_t *context)
{
    char here;
    struct sigaction action;
    sigaction(number, 0, &action);
    int on_alternate = alternate && &here > alternate && &here < alternate + alternate_bytes;
    printf("%s %d errno %d mask %lx alternate %d next %s", who, number, errno, mask_now(), on_alternate,
           action.sa_handler == SIG_DFL ? "default" : "handler");
    if (info) {
        printf(" code %d at page %d", info->si_code, (char *)info->si_addr == page);
        printf(" restores %lx", word(&context->uc_sigmask));
    }
    printf("\n");
    fflush(stdout);
}

static void repair(void)
{
    if (++turns >= 3 && !resume_by_jump) {
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
    }
    if (resume_by_jump) {
        siglongjmp(back, 1);
    }
}

static void with_info(int number, siginfo_t *info, void *context)
{
    tell("with info", number, info, context);
    errno = 77;
    repair();
}

static void plain(int number)
{
    tell("plain", number, 0, 0);
    repair();
}

static void nested(int number, siginfo_t *info, void *context)
{
    tell("nested", number, info, context);
    if (++turns == 1) {
        *(volatile char *)page = 1;
        printf("back in the first\n");
        fflush(stdout);
    } else {
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
    }
}

static void frames(int number)
{
    /* Genba leaves no frame between the handler and what faulted. */
    void *found[64];
    int count = backtrace(found, 64), strangers = 0;
    char **names = backtrace_symbols(found, count);
    for (int at = 0; at < count; at++) {
        strangers += strstr(names[at], "genba") != 0 || strstr(names[at], "agent") != 0;
    }
    printf("frames %d strangers %d\n", count > 2, strangers);
    fflush(stdout);
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void fault(void)
{
    errno = 5;
    *(volatile char *)page = 1;
    printf("went on, errno %d\n", errno);
    fflush(stdout);
}

static void own_alternate_stack(void)
{
    alternate = mmap(0, alternate_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = alternate, .ss_size = alternate_bytes};
    sigaltstack(&stack, 0);
}

static void set(int number, void *handler, int flags, int masked)
{
    struct sigaction action, told;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = (void (*)(int, siginfo_t *, void *))handler;
    action.sa_flags = flags;
    if (masked) {
        sigaddset(&action.sa_mask, masked);
    }
    sigaction(number, &action, 0);
    memset(&told, 0, sizeof told);
    sigaction(number, 0, &told);
    printf("set %d: same %d flags %x mask %lx\n", number, told.sa_sigaction == action.sa_sigaction, told.sa_flags, word(&told.sa_mask));
    fflush(stdout);
}

static void *to_pipe_reader(void *descriptor)
{
    char byte;
    errno = 0;
    ssize_t got = read((int)(intptr_t)descriptor, &byte, 1);
    printf("read %zd errno %d\n", got, errno);
    fflush(stdout);
    return 0;
}

static void *blocked_thread(void *unused)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGSEGV);
    pthread_sigmask(SIG_BLOCK, &one, 0);
    spin(0.1);
    fault();
    return 0;
}

static volatile long quick_count;

static void quick(int number, siginfo_t *info, void *context)
{
    quick_count++;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static const int faulting[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
enum { FAULTING = sizeof faulting / sizeof *faulting };
static volatile int handled, wrong;
static volatile pid_t sleeper;

static void expected_in_sleeper(int number, siginfo_t *info, void *context)
{
    int is_kill = info->si_code == SI_USER, is_queued = info->si_code == SI_QUEUE && info->si_value.sival_int == 5;
    wrong += syscall(SYS_gettid) != sleeper || info->si_pid != getpid() || !(is_kill || is_queued);
    handled++;
}

static void *sleeping_thread(void *unused)
{
    sleeper = syscall(SYS_gettid);
    while (sleeper) {
        pause();
    }
    return 0;
}

/* The thread, the mask and the restored registers are the same each time, wherever the signal arrived. */
static volatile pid_t expected_thread;
static volatile unsigned long expected_mask;

static void the_same_each_time(int number, siginfo_t *info, void *context)
{
    unsigned long restored = word(&((ucontext_t *)context)->uc_sigmask);
    wrong += syscall(SYS_gettid) != expected_thread || mask_now() != expected_mask || restored != 0;
    handled++;
    if (handled % 2) {
        siglongjmp(back, 1);
    }
}

enum { SENT_FROM_HERE = 20000, SENT_FROM_THERE = 6000, LOOKS_BEFORE_YIELD = 1000 };

static void *sending_thread(void *receiver)
{
    for (int turn = 0; turn < SENT_FROM_THERE; turn++) {
        int before = handled, number = turn % 3 ? SIGSEGV : SIGBUS;
        turn % 2 ? pthread_kill(*(pthread_t *)receiver, number) : kill(getpid(), number);
        for (long look = 1; handled == before; look++) {
            if (look % LOOKS_BEFORE_YIELD == 0) {
                sched_yield();
            }
        }
    }
    return sending_thread;
}

static void block_faulting(void)
{
    sigset_t all;
    sigemptyset(&all);
    for (int at = 0; at < FAULTING; at++) {
        sigaddset(&all, faulting[at]);
    }
    pthread_sigmask(SIG_BLOCK, &all, 0);
}

static void begin(void)
{
    page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void run(const char *name)
{
    pthread_t thread;
    sigset_t one;
    begin();
    spin(0.05);
    if (!strcmp(name, "info")) {
        set(SIGSEGV, with_info, SA_SIGINFO, SIGUSR1);
        spin(0.05);
        fault();
    } else if (!strcmp(name, "plain")) {
        set(SIGSEGV, plain, 0, SIGUSR2);
        spin(0.05);
        fault();
    } else if (!strcmp(name, "nodefer")) {
        set(SIGSEGV, nested, SA_SIGINFO | SA_NODEFER, SIGUSR2);
        spin(0.05);
        fault();
    } else if (!strcmp(name, "deferred")) {
        /* A fault while its signal is blocked ends the process. */
        set(SIGSEGV, nested, SA_SIGINFO, 0);
        spin(0.05);
        fault();
    } else if (!strcmp(name, "once")) {
        set(SIGSEGV, with_info, SA_SIGINFO | SA_RESETHAND, SIGUSR1);
        spin(0.05);
        fault();
    } else if (!strcmp(name, "once sent")) {
        set(SIGSEGV, plain, SA_RESETHAND | SA_NODEFER, SIGUSR1);
        spin(0.05);
        raise(SIGSEGV);
        spin(0.05);
        raise(SIGSEGV);
    } else if (!strcmp(name, "alternate")) {
        own_alternate_stack();
        set(SIGSEGV, with_info, SA_SIGINFO | SA_ONSTACK, 0);
        spin(0.05);
        fault();
    } else if (!strcmp(name, "not alternate")) {
        own_alternate_stack();
        set(SIGSEGV, with_info, SA_SIGINFO, 0);
        spin(0.05);
        fault();
    } else if (!strcmp(name, "small alternate")) {
        /* Too small for genba to read under guard there; room for this handler, and for a signal while it runs (docs/limits.md). */
        alternate_bytes = 11264;
        own_alternate_stack();
        set(SIGSEGV, with_info, SA_SIGINFO | SA_ONSTACK, 0);
        spin(0.2);
        fault();
    } else if (!strcmp(name, "jump")) {
        set(SIGSEGV, with_info, SA_SIGINFO, SIGUSR1);
        set(SIGBUS, plain, SA_NODEFER, 0);
        resume_by_jump = 1;
        for (volatile int turn = 0; turn < 300; turn++) {
            if (!sigsetjmp(back, 1)) {
                if (turn % 3 == 2) {
                    raise(SIGBUS);
                }
                fault();
            }
            spin(0.0003);
        }
        printf("mask %lx\n", mask_now());
    } else if (!strcmp(name, "blocked")) {
        set(SIGSEGV, with_info, SA_SIGINFO, 0);
        pthread_create(&thread, 0, blocked_thread, 0);
        pthread_join(thread, 0);
    } else if (!strcmp(name, "ignored")) {
        signal(SIGSEGV, SIG_IGN);
        spin(0.05);
        raise(SIGSEGV);
        printf("ignored\n");
        fflush(stdout);
        fault();
    } else if (!strcmp(name, "ignored over exec")) {
        signal(SIGSEGV, SIG_IGN);
        signal(SIGBUS, plain);
        fflush(stdout);
        execl("/bin/sh", "sh", "-c", "kill -SEGV $$; echo ignored; kill -BUS $$; echo never", (char *)0);
    } else if (!strcmp(name, "sent")) {
        set(SIGSEGV, with_info, SA_SIGINFO | SA_RESTART, SIGUSR1);
        set(SIGBUS, plain, 0, 0);
        spin(0.05);
        turns = -100;
        raise(SIGSEGV);
        kill(getpid(), SIGBUS);
        pthread_kill(pthread_self(), SIGSEGV);
        union sigval value = {.sival_int = 5};
        sigqueue(getpid(), SIGSEGV, value);
        spin(0.05);
        printf("mask %lx\n", mask_now());
    } else if (!strcmp(name, "sent at any moment")) {
        set(SIGSEGV, the_same_each_time, SA_SIGINFO, SIGBUS);
        set(SIGBUS, the_same_each_time, SA_SIGINFO, SIGSEGV);
        expected_thread = syscall(SYS_gettid);
        expected_mask = 1UL << (SIGSEGV - 1) | 1UL << (SIGBUS - 1);
        for (volatile int turn = 0; turn < SENT_FROM_HERE; turn++) {
            if (!sigsetjmp(back, 1)) {
                kill(getpid(), SIGBUS);
            }
        }
        pthread_t here = pthread_self();
        sigset_t before;
        sigemptyset(&one);
        sigaddset(&one, SIGSEGV);
        sigaddset(&one, SIGBUS);
        pthread_sigmask(SIG_BLOCK, &one, &before);
        pthread_create(&thread, 0, sending_thread, &here);
        void *ended = 0;
        while (!ended) {
            if (!sigsetjmp(back, 1)) {
                pthread_sigmask(SIG_SETMASK, &before, 0);
                while (pthread_tryjoin_np(thread, &ended) != 0) {
                }
            }
        }
        printf("handled %d wrong %d\n", handled, wrong);
    } else if (!strcmp(name, "sent to others")) {
        /* One thread of the program's lets them through; it gets each of them. */
        for (int at = 0; at < FAULTING; at++) {
            set(faulting[at], expected_in_sleeper, SA_SIGINFO, 0);
        }
        pthread_create(&thread, 0, sleeping_thread, 0);
        block_faulting();
        while (!sleeper) {
            sched_yield();
        }
        for (int turn = 1; turn <= 400; turn++) {
            union sigval value = {.sival_int = 5};
            int number = faulting[turn % FAULTING];
            turn % 2 ? kill(getpid(), number) : sigqueue(getpid(), number, value);
            while (handled < turn) {
                spin(0.0001);
            }
        }
        printf("handled %d wrong %d\n", handled, wrong);
    } else if (!strcmp(name, "sent to nobody")) {
        /* Blocked everywhere: it waits until somebody asks. */
        block_faulting();
        for (int at = 0; at < FAULTING; at++) {
            union sigval value = {.sival_int = at};
            siginfo_t info;
            sigset_t waited_for;
            sigemptyset(&waited_for);
            sigaddset(&waited_for, faulting[at]);
            sigqueue(getpid(), faulting[at], value);
            spin(0.02);
            sigwaitinfo(&waited_for, &info);
            printf("signal %d code %d value %d\n", info.si_signo, info.si_code, info.si_value.sival_int);
        }
    } else if (!strncmp(name, "restart", 7)) {
        int ends[2];
        turns = -100;
        pipe(ends);
        set(SIGSEGV, plain, strcmp(name, "restart") ? 0 : SA_RESTART, 0);
        pthread_create(&thread, 0, to_pipe_reader, (void *)(intptr_t)ends[0]);
        /* Until it sleeps in read. */
        struct timespec pause = {0, 100000000};
        nanosleep(&pause, 0);
        pthread_kill(thread, SIGSEGV);
        nanosleep(&pause, 0);
        write(ends[1], "x", 1);
        pthread_join(thread, 0);
    } else if (!strcmp(name, "frames")) {
        void *warm[2];
        backtrace(warm, 2);
        set(SIGSEGV, frames, 0, 0);
        spin(0.05);
        fault();
    } else if (!strcmp(name, "default")) {
        set(SIGSEGV, with_info, SA_SIGINFO, 0);
        signal(SIGSEGV, SIG_DFL);
        spin(0.05);
        fault();
    } else if (!strcmp(name, "default sent")) {
        set(SIGBUS, with_info, SA_SIGINFO, 0);
        set(SIGBUS, SIG_DFL, SA_RESETHAND | SA_ONSTACK, SIGUSR2);
        spin(0.05);
        raise(SIGBUS);
    } else if (!strcmp(name, "beyond the end")) {
        FILE *file = tmpfile();
        page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
        set(SIGBUS, with_info, SA_SIGINFO, 0);
        resume_by_jump = 1;
        if (!sigsetjmp(back, 1)) {
            fault();
        }
        signal(SIGBUS, SIG_DFL);
        fault();
    } else if (!strncmp(name, "raw", 3)) {
        struct { void *handler; unsigned long flags; void *restorer; unsigned long mask; } raw, before;
        struct sigaction now;
        sigaction(SIGSEGV, 0, &now);
        set(SIGSEGV, plain, 0, 0);
        sigaction(SIGSEGV, 0, &now);
        raw.handler = (void *)with_info;
        raw.flags = SA_SIGINFO | 0x04000000;
        raw.restorer = (void *)now.sa_restorer;
        raw.mask = 0;
        syscall(SYS_rt_sigaction, SIGSEGV, &raw, &before, 8);
        spin(0.05);
        if (!strcmp(name, "raw chained")) {
            /* What stood in the kernel is called as the kernel would. */
            memset(&now, 0, sizeof now);
            now.sa_sigaction = (void (*)(int, siginfo_t *, void *))before.handler;
            now.sa_flags = SA_SIGINFO;
            sigaction(SIGSEGV, &now, 0);
        }
        spin(0.05);
        fault();
    } else if (!strcmp(name, "many")) {
        set(SIGSEGV, quick, SA_SIGINFO, 0);
        for (int turn = 0; turn < 20000; turn++) {
            /* Two bytes. */
            __asm__ volatile("movb %%al, (%%rdi)" : : "D"(page) : "memory");
        }
        printf("came %ld\n", quick_count);
    } else if (!strcmp(name, "forked")) {
        set(SIGSEGV, with_info, SA_SIGINFO, SIGUSR1);
        pid_t child = fork();
        if (child == 0) {
            spin(0.1);
            fault();
            signal(SIGSEGV, SIG_DFL);
            mprotect(page, 4096, PROT_NONE);
            fault();
        }
        int status;
        waitpid(child, &status, 0);
        printf("child ended by %d\n", WTERMSIG(status));
        fault();
    } else if (!strcmp(name, "vforked")) {
        set(SIGSEGV, with_info, SA_SIGINFO, SIGUSR1);
        pid_t child = vfork();
        if (child == 0) {
            signal(SIGSEGV, SIG_DFL);
            signal(SIGBUS, SIG_IGN);
            execl("/bin/true", "true", (char *)0);
            _exit(1);
        }
        int status;
        waitpid(child, &status, 0);
        printf("child %d\n", status);
        set(SIGBUS, plain, 0, 0);
        fault();
    }
    fflush(stdout);
}
