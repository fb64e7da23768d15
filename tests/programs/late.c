/* Preloaded: every new thread begins 100 ms late, as where it has to wait for a CPU. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct task { void *(*body)(void *); void *argument; };

static void *later(void *given) {
    struct task task = *(struct task *)given;
    free(given);
    usleep(100000);
    return task.body(task.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    struct task *task = malloc(sizeof *task);
    *task = (struct task){body, argument};
    return next(thread, attributes, later, task);
}
