/* Loads an interpreter after 100 ms of work, and runs a program in it: embeds LIBPYTHON global|local PROGRAM */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double seconds_of_cpu(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

int main(int count, char **words) {
    if (count != 4) return 2;
    while (seconds_of_cpu() < 0.1) {}
    void *python = dlopen(words[1], RTLD_NOW | (strcmp(words[2], "global") ? RTLD_LOCAL : RTLD_GLOBAL));
    if (!python) return fputs(dlerror(), stderr), 3;
    void (*initialize)(void) = (void (*)(void))dlsym(python, "Py_Initialize");
    int (*run)(const char *) = (int (*)(const char *))dlsym(python, "PyRun_SimpleString");
    int (*finalize)(void) = (int (*)(void))dlsym(python, "Py_FinalizeEx");
    initialize();
    int failed = run(words[3]);
    return finalize() || failed;
}
