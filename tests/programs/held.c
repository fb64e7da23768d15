/* Places where a thread holds a lock of the C library's, or stands on an unusual stack. Each function stays there for some milliseconds and returns 0.
   Built with -DNAP_MS=N, loading the library takes N milliseconds. */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static void nap(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#ifdef NAP_MS
__attribute__((constructor)) static void load_slowly(void)
{
    nap(NAP_MS);
}
#endif

static int nap_once(struct dl_phdr_info *library, size_t bytes, void *ms)
{
    nap((long)ms);
    return 1;
}

long in_loader(long ms)
{
    return dl_iterate_phdr(nap_once, (void *)ms) - 1;
}

long in_stdio(long ms)
{
    flockfile(stdout);
    nap(ms);
    funlockfile(stdout);
    return 0;
}

/* Blocks that no thread's own cache holds. */
static void allocate(void)
{
    void *volatile first = malloc(3000);
    void *volatile second = malloc(5000);
    free(first);
    free(second);
}

long in_malloc(long ms)
{
    for (long end = now_ms() + ms; now_ms() < end;)
        for (int count = 0; count < 1000; count++)
            allocate();
    return 0;
}

static void wait_in_handler(int signal)
{
    int before = errno;
    struct timespec most_of_the_time = {0, 1500000};
    nanosleep(&most_of_the_time, NULL);
    errno = before;
}

/* A timer's handler waits, most often over malloc. */
long in_handler(long ms)
{
    struct sigaction action = {.sa_handler = wait_in_handler, .sa_flags = SA_RESTART}, before;
    struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &often, NULL);
    in_malloc(ms);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    return 0;
}

/* The child of a vfork has its parent's memory until it ends. */
long in_vfork(long ms)
{
    int status = 0;
    pid_t child = vfork();
    if (child == 0) {
        nap(ms);
        _exit(0);
    }
    return child < 0 || waitpid(child, &status, 0) != child ? -1 : status;
}

/* As a coroutine's or a goroutine's: a piece of the heap. */
enum { STACK_BYTES = 4096, AROUND_BYTES = 65536, MARK = 0xa5 };
static ucontext_t outside, inside;
static volatile long inside_ms;

static void spin(void)
{
    for (long end = now_ms() + inside_ms; now_ms() < end;)
        for (volatile int count = 0; count < 1000000; count++)
            ;
}

static void sleep_inside(void)
{
    nap(inside_ms);
}

static long on_small_stack(long ms, void (*what)(void))
{
    unsigned char *around = malloc(AROUND_BYTES + STACK_BYTES);
    memset(around, MARK, AROUND_BYTES);
    inside_ms = ms;
    getcontext(&inside);
    inside.uc_stack.ss_sp = around + AROUND_BYTES;
    inside.uc_stack.ss_size = STACK_BYTES;
    inside.uc_link = &outside;
    makecontext(&inside, what, 0);
    swapcontext(&outside, &inside);
    long overwritten = 0;
    for (int at = 0; at < AROUND_BYTES; at++)
        overwritten += around[at] != MARK;
    free(around);
    return overwritten;
}

long spinning_on_small_stack(long ms)
{
    return on_small_stack(ms, spin);
}

long sleeping_on_small_stack(long ms)
{
    return on_small_stack(ms, sleep_inside);
}
