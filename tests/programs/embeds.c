/* Loads an interpreter after 100 ms of work, and runs a program in it: embeds LIBPYTHON global|local|leaves|forks
   PROGRAM. `leaves`: its first thread ends by pthread_exit. `forks`: it forks before Py_Initialize, and both run the program. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds_of_cpu(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

int main(int count, char **words) {
    if (count != 4) return 2;
    while (seconds_of_cpu() < 0.1) {}
    void *python = dlopen(words[1], RTLD_NOW | (strcmp(words[2], "local") ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!python) return fputs(dlerror(), stderr), 3;
    void (*initialize)(void) = (void (*)(void))dlsym(python, "Py_Initialize");
    int (*run)(const char *) = (int (*)(const char *))dlsym(python, "PyRun_SimpleString");
    int (*finalize)(void) = (int (*)(void))dlsym(python, "Py_FinalizeEx");
    pid_t child = strcmp(words[2], "forks") ? 0 : fork();
    initialize();
    int failed = run(words[3]);
    failed |= finalize();
    int status = 0;
    if (child) waitpid(child, &status, 0);
    if (!strcmp(words[2], "leaves")) pthread_exit(0);
    return failed || status;
}
