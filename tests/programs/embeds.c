/* Loads an interpreter after 100 ms of work, and runs a program in it: embeds LIBPYTHON global|local|leaves|forks|second|becomes|asks
   PROGRAM. `leaves`: its first thread ends by pthread_exit. `forks`: it forks before Py_Initialize, and both run the program. `second`: as
   mod_wsgi, which is linked with its Python, it asks dlsym for nothing until that is there, and runs the program in an interpreter of its own. No
   code runs in the first one then. `becomes`: it becomes another user behind dlopen, `asks`: behind its first dlsym. Of root's rights all its threads
   keep that to read any file: Python's own may lie in a folder of root's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds_of_cpu(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

/* By libc's own dlsym, in which genba has no part. */
static void *linked(void *python, const char *name) {
    void *(*of_libc)(void *, const char *) = (void *(*)(void *, const char *))dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.2.5");
    return of_libc(python, name);
}

static int keep_reading(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct kept[2] = {{0}};
    kept[0].effective = kept[0].permitted = 1 << CAP_DAC_READ_SEARCH | 1 << CAP_SETUID;
    return prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) || syscall(SYS_capset, &header, kept);
}

int main(int count, char **words) {
    if (count != 4) return 2;
    int becomes = !strcmp(words[2], "becomes"), asks = !strcmp(words[2], "asks");
    if ((becomes || asks) && keep_reading()) return 5;
    while (seconds_of_cpu() < 0.1) {}
    void *python = dlopen(words[1], RTLD_NOW | (strcmp(words[2], "local") ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!python) return fputs(dlerror(), stderr), 3;
    if (becomes && setuid(65534)) return 6;
    int is_second = !strcmp(words[2], "second");
    void (*initialize)(void) = (void (*)(void))(is_second ? linked : dlsym)(python, "Py_Initialize");
    if (asks && setuid(65534)) return 6;
    pid_t child = strcmp(words[2], "forks") ? 0 : fork();
    initialize();
    void *first = 0, *second = 0;
    if (is_second) {
        first = ((void *(*)(void))linked(python, "PyThreadState_Get"))();
        second = ((void *(*)(void))linked(python, "Py_NewInterpreter"))();
        if (!second) return 4;
    }
    int (*run)(const char *) = (int (*)(const char *))dlsym(python, "PyRun_SimpleString");
    int (*finalize)(void) = (int (*)(void))dlsym(python, "Py_FinalizeEx");
    int failed = run(words[3]);
    if (is_second) {
        ((void (*)(void *))dlsym(python, "Py_EndInterpreter"))(second);
        ((void *(*)(void *))dlsym(python, "PyThreadState_Swap"))(first);
    }
    failed |= finalize();
    int status = 0;
    if (child) waitpid(child, &status, 0);
    if (!strcmp(words[2], "leaves")) pthread_exit(0);
    return failed || status;
}
