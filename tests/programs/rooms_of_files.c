/* In place of libc's functions that give a file its room: they fail where the kernel would let SIGURG through in the calling thread. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_open_to_signals(void)
{
    unsigned long mask = 0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, sizeof mask);
    return !(mask & 1ul << (SIGURG - 1));
}

int fallocate(int file, int mode, off_t begin, off_t bytes)
{
    return is_open_to_signals() ? -1 : 0;
}

int fallocate64(int file, int mode, off_t begin, off_t bytes)
{
    return is_open_to_signals() ? -1 : 0;
}

int posix_fallocate(int file, off_t begin, off_t bytes)
{
    return is_open_to_signals() ? EINTR : 0;
}

int posix_fallocate64(int file, off_t begin, off_t bytes)
{
    return is_open_to_signals() ? EINTR : 0;
}
