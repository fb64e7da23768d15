/* A thread that holds the lock of the dynamic linker's list of files, as one does that throws a C++ exception, until it is told to give it back. */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <unistd.h>

static volatile int inside, over;
static pthread_t thread;

static int stay(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    inside = 1;
    while (!over) {
        usleep(1000);
    }
    return 1;
}

static void *hold(void *unused)
{
    dl_iterate_phdr(stay, 0);
    return 0;
}

/* Comes back when the thread has the lock. */
void begin(void)
{
    pthread_create(&thread, 0, hold, 0);
    while (!inside) {
        usleep(1000);
    }
}

void end(void)
{
    over = 1;
    pthread_join(thread, 0);
}
