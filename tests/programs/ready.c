/* In place of libc's functions that wait for descriptors: they tell 1 where the kernel lets SIGURG through in the calling thread, and 2 where not.
   A signal seems to end each look at two descriptors that does not wait. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

static int how_open(void)
{
    unsigned long mask = 0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, sizeof mask);
    return mask & 1ul << (SIGURG - 1) ? 2 : 1;
}

int poll(struct pollfd *files, nfds_t count, int wait_ms)
{
    if (count == 2 && wait_ms == 0) {
        errno = EINTR;
        return -1;
    }
    return how_open();
}

int ppoll(struct pollfd *files, nfds_t count, const struct timespec *wait, const sigset_t *mask)
{
    return how_open();
}

int select(int count, fd_set *reading, fd_set *writing, fd_set *failing, struct timeval *wait)
{
    return how_open();
}

int epoll_wait(int poll, struct epoll_event *events, int count, int wait_ms)
{
    return how_open();
}
