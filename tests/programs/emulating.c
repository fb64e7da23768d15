/* A sandbox that traps system calls and emulates them in its handler for SIGSYS: openat by open, everything else fails with ENOSYS. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <sys/syscall.h>
#include <ucontext.h>

static volatile long count;
static sem_t trapped;

static long call(long number, long first, long second, long third)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(first), "S"(second), "d"(third) : "rcx", "r11", "memory");
    return result;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    count++;
    sem_post(&trapped);
    registers[REG_RAX] = info->si_syscall == SYS_openat ? call(SYS_open, registers[REG_RSI], registers[REG_RDX], registers[REG_R10]) : -ENOSYS;
}

void emulate(void)
{
    struct sigaction action;
    sem_init(&trapped, 0, 0);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSYS, &action, 0);
}

void blocked_faults(void)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGSEGV);
    pthread_sigmask(SIG_BLOCK, &one, 0);
}

long traps(void)
{
    return count;
}

/* Waits for one more than so many traps; 0: it did not come within so many seconds. */
int more_than(long before, int seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    while (count <= before) {
        if (sem_timedwait(&trapped, &until) != 0 && errno != EINTR) {
            return 0;
        }
    }
    return 1;
}
