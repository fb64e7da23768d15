/* A library whose loading takes half a second: behind the slots of its pointers, and before those of its calls. */
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

static int answer(void)
{
    return 1;
}

/* Runs in the middle of loading, when no call of another library's function is possible. */
static int (*found(void))(void)
{
    struct timespec left = {0, 500000000};
#if defined(__x86_64__)
    long result;
    do
        __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_nanosleep), "D"(&left), "S"(&left) : "rcx", "r11", "memory");
    while (result == -4);
#endif
    return answer;
}

int meant(void) __attribute__((ifunc("found")));
int (*is_meant)(void) = meant;

int moves(char *to, const char *from, unsigned long bytes)
{
    void *(*volatile by_pointer)(void *, const void *, size_t) = memcpy;
    by_pointer(to, from, bytes);
    memmove(to, from, bytes);
    return is_meant() && !memcmp(to, from, bytes);
}
