/* A thread made without libc, whose thread pointer points to the beginning of its memory: below it there is nothing to read. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int told, alive;

static int runs(void *unused)
{
    while (!told) {
    }
    return 0;
}

/* Sends it so many SIGURG; 1: it lived on to its end. */
int urge(int count)
{
    const size_t page = 4096, stack = 256 * 1024;
    char *storage = mmap(0, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *lowest = mmap(0, stack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_CHILD_CLEARTID;
    int tid;
    mprotect(storage + page, page, PROT_READ | PROT_WRITE);
    *(uintptr_t *)(storage + page) = (uintptr_t)storage + page;
    alive = 1;
    tid = clone(runs, lowest + stack, flags, 0, 0, storage + page, &alive);
    if (tid < 0) {
        return 0;
    }
    for (; count > 0; count--) {
        syscall(SYS_tgkill, getpid(), tid, SIGURG);
        usleep(1000);
    }
    told = 1;
    while (alive) {
        syscall(SYS_futex, &alive, FUTEX_WAIT, 1, 0, 0, 0);
    }
    return 1;
}
