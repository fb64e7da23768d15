/* What a program does that a guest in it must survive: forks from C threads, handlers that come and go. */
#define _GNU_SOURCE
#include <link.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int next_file(struct dl_phdr_info *info, size_t size, void *context)
{
    return 0;
}

/* Forks `count` times; each child asks the dynamic linker for its files, which takes the linker's lock. Returns how many
   children did not end well. A child that hangs makes this hang: the test has a time limit. */
long forks(long count)
{
    long bad = 0;
    for (long turn = 0; turn < count; turn++) {
        pid_t child = fork();
        if (child == 0) {
            dl_iterate_phdr(next_file, 0);
            _exit(0);
        }
        int status = -1;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            bad++;
        }
    }
    return bad;
}

static volatile long handled;

static void on_urgent(int signal)
{
    handled++;
}

/* Installs a handler for SIGURG and takes it out again. Returns how often it was called so far. */
long urgent_handler(long install)
{
    struct sigaction action = {0};
    action.sa_handler = install ? on_urgent : SIG_DFL;
    sigaction(SIGURG, &action, 0);
    return handled;
}
