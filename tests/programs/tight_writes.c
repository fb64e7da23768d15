/* A thread that writes to a full pipe with only so much of its stack left as a signal's frame and genba's handler may take. */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK_BYTES (256 << 10)
#define GUARD_BYTES 65536
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/* Below the stack pointer: the red zone, what aligns the frame, libc's own frames in write. */
#define AROUND_BYTES (128 + 64 + 128)

static char *lowest;
static size_t left_bytes, written_bytes;
static int descriptor;

static void *writer(void *unused)
{
    static char data[1 << 20];
    char *top;
    __asm__ volatile("mov %%rsp, %0" : "=r"(top));
    volatile char *room = alloca((size_t)(top - lowest) - left_bytes);
    room[0] = 1;
    for (int turn = 0; turn < 4; turn++) {
        ssize_t done = write(descriptor, data, sizeof data);
        written_bytes += done > 0 ? (size_t)done : 0;
        if (done != sizeof data) {
            break;
        }
    }
    return 0;
}

/* The kernel says how large its frame is on this processor. */
long frame_bytes(void)
{
    return (long)getauxval(AT_MINSIGSTKSZ);
}

/* How much of 4 MiB arrived, each MiB in one call; a slow reader on the other end. */
long write_with(long handler_bytes)
{
    static char part[20000];
    pthread_attr_t attributes;
    pthread_t thread;
    int ends[2];
    char *stack = mmap(0, GUARD_BYTES + STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    lowest = stack + GUARD_BYTES;
    mprotect(lowest, STACK_BYTES, PROT_READ | PROT_WRITE);
    left_bytes = (size_t)(frame_bytes() + AROUND_BYTES + handler_bytes);
    written_bytes = 0;
    pipe(ends);
    descriptor = ends[1];
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, lowest, STACK_BYTES);
    if (pthread_create(&thread, &attributes, writer, 0)) {
        return -1;
    }
    for (size_t taken = 0; taken < 4 << 20;) {
        ssize_t got = read(ends[0], part, sizeof part);
        if (got <= 0) {
            return -2;
        }
        taken += (size_t)got;
        for (volatile int turn = 0; turn < 20000; turn++) {
        }
        if (written_bytes % (1 << 20)) {
            return (long)written_bytes;
        }
    }
    pthread_join(thread, 0);
    close(ends[0]);
    close(ends[1]);
    munmap(stack, GUARD_BYTES + STACK_BYTES);
    return (long)written_bytes;
}
