/* A write that waits again and again, and a handler without SA_ONSTACK that needs more of the thread's stack than an alternate one has. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define BYTES (4 << 20)
#define HANDLER_BYTES (300 << 10)
#define ALTERNATE_BYTES (32 << 10)

static int ends[2];
static volatile int handled, ran_elsewhere;
static char *alternate;

static void large(int signal)
{
    volatile char room[HANDLER_BYTES];
    for (size_t at = 0; at < sizeof room; at += 1024) {
        room[at] = 1;
    }
    handled++;
}

static void on_alternate(int signal)
{
    char *here = __builtin_frame_address(0);
    memset(alternate, 1, ALTERNATE_BYTES / 2);
    ran_elsewhere += here < alternate || here >= alternate + ALTERNATE_BYTES;
    raise(SIGUSR2);
    handled++;
}

static void *reader(void *unused)
{
    static char part[65536];
    while (read(ends[0], part, sizeof part) > 0) {
        for (volatile int turn = 0; turn < 100000; turn++) {
        }
    }
    return 0;
}

/* How the handlers ran: 0 is well. With an alternate stack of the program's own, every second signal's handler runs on that. */
int run(int rounds, int with_alternate)
{
    pthread_t thread;
    sigset_t all, before;
    struct itimerval every = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = large, .sa_flags = SA_RESTART};
    char *data = calloc(1, BYTES);
    pipe(ends);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_create(&thread, 0, reader, 0);
    pthread_sigmask(SIG_SETMASK, &before, 0);
    sigaction(SIGUSR2, &action, 0);
    if (with_alternate) {
        alternate = malloc(ALTERNATE_BYTES);
        stack_t own = {.ss_sp = alternate, .ss_size = ALTERNATE_BYTES};
        sigaltstack(&own, 0);
        action.sa_handler = on_alternate;
        action.sa_flags |= SA_ONSTACK;
        sigaddset(&action.sa_mask, SIGUSR2);
    }
    sigaction(SIGALRM, &action, 0);
    setitimer(ITIMER_REAL, &every, 0);
    for (int round = 0; round < rounds; round++) {
        write(ends[1], data, BYTES);
    }
    setitimer(ITIMER_REAL, &never, 0);
    close(ends[1]);
    pthread_join(thread, 0);
    return handled == 0 ? 1 : ran_elsewhere ? 2 : 0;
}
