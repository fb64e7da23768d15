/* A handler that leaves a call of execve, which may be called in one, by siglongjmp. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static sigjmp_buf back;

static void jump(int signal)
{
    siglongjmp(back, 1);
}

/* How often it left one, of so many calls that fail. */
int run(int calls)
{
    char *words[] = {"nowhere", 0};
    struct sigaction action = {.sa_handler = jump}, before;
    struct itimerval never = {{0, 0}, {0, 0}};
    volatile int left = 0;
    sigaction(SIGALRM, &action, &before);
    for (volatile int call = 0; call < calls; call++) {
        struct itimerval once = {{0, 0}, {0, 20 + call % 200}};
        if (sigsetjmp(back, 1)) {
            left++;
            continue;
        }
        setitimer(ITIMER_REAL, &once, 0);
        execve("/nowhere/at/all", words, environ);
        /* One that came after the call. */
        pause();
    }
    setitimer(ITIMER_REAL, &never, 0);
    sigaction(SIGALRM, &before, 0);
    return left;
}
