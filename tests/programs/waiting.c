/* Calls that wait, made in the ways of C: what interrupts them, and whether that was a signal of the program's own. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long handled;
static volatile double kept;

static void on_alarm(int number)
{
    handled++;
}

/* Some work, so that the thread is one that runs and is looked at. */
static void work(long rounds)
{
    double sum = 0;
    for (long round = 1; round < rounds; round++) {
        sum += 1.0 / (double)round;
    }
    kept = sum;
}

static int wait_once(int way, const sigset_t *mask)
{
    struct timespec long_time = {60, 0};
    switch (way) {
    case 0:
        return pause();
    case 1:
        return sigsuspend(mask);
    case 2:
        return ppoll(0, 0, &long_time, mask);
    case 3:
        return pselect(0, 0, 0, 0, &long_time, mask);
    default: {
        struct epoll_event event;
        int events = epoll_create1(0);
        int result = epoll_pwait(events, &event, 1, 60000, mask);
        int failed = errno;
        close(events);
        errno = failed;
        return result;
    }
    }
}

/* Waits `count` times for a timer's signal in one of the five ways, after work of a changing length. Returns how often the wait
   ended although no handler of the program had run. The timer goes on, so that a signal before the wait is not the last. */
long spurious(long way, long count)
{
    struct sigaction action = {.sa_handler = on_alarm}, before;
    struct itimerval every = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    sigset_t mask;
    long bad = 0;
    sigemptyset(&mask);
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &every, 0);
    for (long turn = 0; turn < count; turn++) {
        work(turn % 97 * 300);
        long seen = handled;
        if (wait_once((int)way, &mask) != -1 || errno != EINTR || handled == seen) {
            bad++;
        }
    }
    setitimer(ITIMER_REAL, &never, 0);
    sigaction(SIGALRM, &before, 0);
    return bad;
}

/* Waits a millisecond, `count` times, with poll (0), select (1) or nanosleep (2). Returns how many waits were interrupted. */
long interrupted(long way, long count)
{
    long interruptions = 0;
    for (long turn = 0; turn < count; turn++) {
        struct timespec time = {0, 1000000};
        struct timeval short_time = {0, 1000};
        work(turn % 97 * 30);
        int result = way == 0 ? poll(0, 0, 1) : way == 1 ? select(0, 0, 0, 0, &short_time) : nanosleep(&time, 0);
        if (result == -1 && errno == EINTR) {
            interruptions++;
        }
    }
    return interruptions;
}

static void *wait_for_ever(void *way)
{
    sigset_t all;
    int number;
    siginfo_t info;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, 0);
    for (;;) {
        switch ((long)way) {
        case 0:
            pause();
            break;
        case 1:
            sigwait(&all, &number);
            break;
        default:
            sigwaitinfo(&all, &info);
        }
    }
    return 0;
}

/* Threads that wait in pause, sigwait and sigwaitinfo are cancelled there. Returns how many were. */
long cancelled(void)
{
    long count = 0;
    for (long way = 0; way < 3; way++) {
        pthread_t thread;
        void *result = 0;
        pthread_create(&thread, 0, wait_for_ever, (void *)way);
        work(300000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        count += result == PTHREAD_CANCELED;
    }
    return count;
}
