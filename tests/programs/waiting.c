/* Calls that wait, made in the ways of C: what interrupts them, and whether that was a signal of the program's own. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <threads.h>
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

enum { PAUSE, SIGSUSPEND, PPOLL, PSELECT, EPOLL_PWAIT, POLL, SELECT, NANOSLEEP, CLOCK_NANOSLEEP, EPOLL_WAIT, USLEEP, SEM_TIMEDWAIT, SEMTIMEDOP,
       THRD_SLEEP, RECV, SEND, ACCEPT, CONNECT, PPOLL_WITHOUT_MASK, PSELECT_WITHOUT_MASK, EPOLL_PWAIT_WITHOUT_MASK, SEM_CLOCKWAIT, ACCEPT4,
       RECVFROM, RECVMSG, RECVMMSG, SENDTO, SENDMSG, SENDMMSG, SEMOP, MSGRCV, MSGSND, SLEEP };

static int semaphores = -1, queue = -1, full_queue = -1;

/* Sockets on which nothing comes: one of a pair, into which nothing goes any more, one that listens, and one whose queue of callers is full. */
static int pair[2], listens, is_full, fills;
static struct sockaddr_un address_of_full;
static socklen_t bytes_of_full;

/* The kernel chooses the address. */
static int listening(int callers, struct sockaddr_un *address, socklen_t *bytes)
{
    int made = socket(AF_UNIX, SOCK_STREAM, 0);
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    bind(made, (struct sockaddr *)address, sizeof address->sun_family);
    listen(made, callers);
    *bytes = sizeof *address;
    getsockname(made, (struct sockaddr *)address, bytes);
    return made;
}

static void open_sockets(void)
{
    struct sockaddr_un address;
    socklen_t bytes;
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    while (send(pair[0], "full", 4, MSG_DONTWAIT) > 0) {
    }
    listens = listening(1, &address, &bytes);
    is_full = listening(0, &address_of_full, &bytes_of_full);
    fills = socket(AF_UNIX, SOCK_STREAM, 0);
    connect(fills, (struct sockaddr *)&address_of_full, bytes_of_full);
}

static void close_sockets(void)
{
    close(pair[0]);
    close(pair[1]);
    close(listens);
    close(is_full);
    close(fills);
}

static int limited(int descriptor, int option, struct timeval limit)
{
    setsockopt(descriptor, SOL_SOCKET, option, &limit, sizeof limit);
    return descriptor;
}

struct message { long kind; char text[512]; };

/* An empty queue, and one into which nothing goes any more. */
static void open_queues(void)
{
    struct message message = {1, "full"};
    queue = msgget(IPC_PRIVATE, 0600);
    full_queue = msgget(IPC_PRIVATE, 0600);
    while (msgsnd(full_queue, &message, sizeof message.text, IPC_NOWAIT) == 0) {
    }
}

static void close_queues(void)
{
    msgctl(queue, IPC_RMID, 0);
    msgctl(full_queue, IPC_RMID, 0);
}

/* The receiving calls and those that send, for one byte, and those that accept. */
static int wait_at_socket(int way, struct timeval limit)
{
    char byte = 'x';
    struct iovec part = {&byte, 1};
    struct mmsghdr one = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
    switch (way) {
    case RECV:
        return (int)recv(limited(pair[0], SO_RCVTIMEO, limit), &byte, 1, 0);
    case RECVFROM:
        return (int)recvfrom(limited(pair[0], SO_RCVTIMEO, limit), &byte, 1, 0, 0, 0);
    case RECVMSG:
        return (int)recvmsg(limited(pair[0], SO_RCVTIMEO, limit), &one.msg_hdr, 0);
    case RECVMMSG:
        return recvmmsg(limited(pair[0], SO_RCVTIMEO, limit), &one, 1, 0, 0);
    case SEND:
        return (int)send(limited(pair[0], SO_SNDTIMEO, limit), &byte, 1, 0);
    case SENDTO:
        return (int)sendto(limited(pair[0], SO_SNDTIMEO, limit), &byte, 1, 0, 0, 0);
    case SENDMSG:
        return (int)sendmsg(limited(pair[0], SO_SNDTIMEO, limit), &one.msg_hdr, 0);
    case SENDMMSG:
        return sendmmsg(limited(pair[0], SO_SNDTIMEO, limit), &one, 1, 0);
    case ACCEPT:
        return accept(limited(listens, SO_RCVTIMEO, limit), 0, 0);
    default:
        return accept4(limited(listens, SO_RCVTIMEO, limit), 0, 0, 0);
    }
}

static int wait_for_semaphore(int way, struct timespec time)
{
    clockid_t clock = way == SEM_TIMEDWAIT ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    sem_t semaphore;
    struct timespec until;
    sem_init(&semaphore, 0, 0);
    clock_gettime(clock, &until);
    until.tv_nsec += time.tv_nsec;
    until.tv_sec += time.tv_sec + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return way == SEM_TIMEDWAIT ? sem_timedwait(&semaphore, &until) : sem_clockwait(&semaphore, clock, &until);
}

static int wait_once(int way, const sigset_t *mask, long wait_ms)
{
    struct timespec time = {wait_ms / 1000, wait_ms % 1000 * 1000000};
    struct timeval as_timeval = {wait_ms / 1000, wait_ms % 1000 * 1000};
    struct sembuf less = {0, -1, 0};
    switch (way) {
    case PAUSE:
        return pause();
    case SIGSUSPEND:
        return sigsuspend(mask);
    case PPOLL:
        return ppoll(0, 0, &time, mask);
    case PSELECT:
        return pselect(0, 0, 0, 0, &time, mask);
    case PPOLL_WITHOUT_MASK:
        return ppoll(0, 0, &time, 0);
    case PSELECT_WITHOUT_MASK:
        return pselect(0, 0, 0, 0, &time, 0);
    case POLL:
        return poll(0, 0, (int)wait_ms);
    case SELECT:
        return select(0, 0, 0, 0, &as_timeval);
    case NANOSLEEP:
        return nanosleep(&time, 0);
    case CLOCK_NANOSLEEP:
        errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &time, 0);
        return errno ? -1 : 0;
    case USLEEP:
        return usleep((useconds_t)(wait_ms * 1000));
    case SEM_TIMEDWAIT:
    case SEM_CLOCKWAIT:
        return wait_for_semaphore(way, time);
    case SEMTIMEDOP:
        return semtimedop(semaphores, &less, 1, &time);
    case THRD_SLEEP: {
        /* It leaves errno alone. */
        int slept = thrd_sleep(&time, 0);
        errno = slept == -1 ? EINTR : 0;
        return slept == 0 ? 0 : -1;
    }
    case RECV:
    case RECVFROM:
    case RECVMSG:
    case RECVMMSG:
    case SEND:
    case SENDTO:
    case SENDMSG:
    case SENDMMSG:
    case ACCEPT:
    case ACCEPT4:
        return wait_at_socket(way, as_timeval);
    case CONNECT: {
        int caller = limited(socket(AF_UNIX, SOCK_STREAM, 0), SO_SNDTIMEO, as_timeval);
        int result = connect(caller, (struct sockaddr *)&address_of_full, bytes_of_full);
        int failed = errno;
        close(caller);
        errno = failed;
        return result;
    }
    case SEMOP:
        return semop(semaphores, &less, 1);
    case MSGRCV: {
        struct message message;
        return (int)msgrcv(queue, &message, sizeof message.text, 0, 0);
    }
    case MSGSND: {
        struct message message = {1, "more"};
        return msgsnd(full_queue, &message, sizeof message.text, 0);
    }
    case SLEEP:
        /* It tells the seconds that were left, and leaves errno alone. */
        errno = sleep((unsigned)(wait_ms / 1000)) ? EINTR : 0;
        return errno ? -1 : 0;
    default: {
        struct epoll_event event;
        int events = epoll_create1(0);
        const sigset_t *own = way == EPOLL_PWAIT ? mask : 0;
        int result = way == EPOLL_WAIT ? epoll_wait(events, &event, 1, (int)wait_ms) : epoll_pwait(events, &event, 1, (int)wait_ms, own);
        int failed = errno;
        close(events);
        errno = failed;
        return result;
    }
    }
}

/* Waits `count` times for a timer's signal in one of the ways, after work of a changing length. Returns how often the wait
   ended although no handler of the program had run. The timer goes on, so that a signal before the wait is not the last. */
long spurious(long way, long count)
{
    struct sigaction action = {.sa_handler = on_alarm}, before;
    struct itimerval every = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    sigset_t mask;
    long bad = 0;
    sigemptyset(&mask);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    open_queues();
    open_sockets();
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &every, 0);
    for (long turn = 0; turn < count; turn++) {
        work(turn % 97 * 300);
        long seen = handled;
        if (wait_once((int)way, &mask, 60000) != -1 || errno != EINTR || handled == seen) {
            bad++;
        }
    }
    setitimer(ITIMER_REAL, &never, 0);
    sigaction(SIGALRM, &before, 0);
    semctl(semaphores, 0, IPC_RMID);
    close_queues();
    close_sockets();
    return bad;
}

/* Waits a millisecond, `count` times, in one of the ways with a time limit. Returns how many waits were interrupted. */
long interrupted(long way, long count)
{
    long interruptions = 0;
    sigset_t mask;
    sigemptyset(&mask);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    open_sockets();
    for (long turn = 0; turn < count; turn++) {
        work(turn % 97 * 30);
        if (wait_once((int)way, &mask, 1) == -1 && errno == EINTR) {
            interruptions++;
        }
    }
    semctl(semaphores, 0, IPC_RMID);
    close_sockets();
    return interruptions;
}

/* The same by raw system calls: poll (0), select (1) and nanosleep (2). */
long interrupted_raw(long way, long count)
{
    long interruptions = 0;
    for (long turn = 0; turn < count; turn++) {
        struct timespec time = {0, 1000000};
        struct timeval short_time = {0, 1000};
        work(turn % 97 * 30);
        long result = way == 0 ? syscall(SYS_poll, 0, 0, 1) : way == 1 ? syscall(SYS_select, 0, 0, 0, 0, &short_time) : syscall(SYS_nanosleep, &time, 0);
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
    char byte;
    struct timeval minute = {60, 0};
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
        case 2:
            sigwaitinfo(&all, &info);
            break;
        default:
            recv(limited(pair[0], SO_RCVTIMEO, minute), &byte, 1, 0);
        }
    }
    return 0;
}

/* Threads that wait in pause, sigwait, sigwaitinfo and for a socket with a time limit are cancelled there. Returns how many were. */
long cancelled(void)
{
    long count = 0;
    open_sockets();
    for (long way = 0; way < 4; way++) {
        pthread_t thread;
        void *result = 0;
        pthread_create(&thread, 0, wait_for_ever, (void *)way);
        work(300000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        count += result == PTHREAD_CANCELED;
    }
    close_sockets();
    return count;
}
