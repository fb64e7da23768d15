/* A thread whose stack has a hole: a page with a return address that is not there until fill() puts it back (userfaultfd). A handler that unwinds
   the thread waits at it; the thread itself spins farther below and does not need the page. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

static int descriptor = -1;
static char *hole;
static char kept[PAGE];
static volatile int over, tid;
static pthread_t thread;

__attribute__((noinline)) static int spin(void)
{
    struct uffdio_register place = {.range = {(uintptr_t)hole, PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    tid = (int)syscall(SYS_gettid);
    memcpy(kept, hole, PAGE);
    if (ioctl(descriptor, UFFDIO_REGISTER, &place) || madvise(hole, PAGE, MADV_DONTNEED)) {
        _exit(9);
    }
    while (!over) {
    }
    return 1;
}

/* Its return address lies on a page on which neither the frame of spin lies nor anything of its caller's. */
__attribute__((noinline)) static int below_the_hole(void)
{
    volatile char room[3 * PAGE];
    room[0] = 1;
    hole = (char *)(((uintptr_t)__builtin_frame_address(0) + 8) & -(uintptr_t)PAGE);
    return spin() + room[0];
}

__attribute__((noinline)) static void *above_the_hole(void *unused)
{
    volatile char room[3 * PAGE];
    room[0] = 1;
    return (void *)(uintptr_t)(below_the_hole() + room[0]);
}

/* False: the kernel has no userfaultfd, or not for this user. */
int begin(void)
{
    struct uffdio_api api = {.api = UFFD_API};
    descriptor = (int)syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY | O_CLOEXEC);
    if (descriptor < 0 || ioctl(descriptor, UFFDIO_API, &api)) {
        return 0;
    }
    return pthread_create(&thread, 0, above_the_hole, 0) == 0;
}

/* Comes back when somebody waits at the hole, with the thread's number. */
int met(void)
{
    struct uffd_msg message;
    return read(descriptor, &message, sizeof message) == sizeof message && message.event == UFFD_EVENT_PAGEFAULT ? tid : 0;
}

int fill(void)
{
    struct uffdio_copy copy = {.dst = (uintptr_t)hole, .src = (uintptr_t)kept, .len = PAGE};
    return ioctl(descriptor, UFFDIO_COPY, &copy) == 0;
}

/* What the thread returns: three. */
long leave(void)
{
    void *result = 0;
    over = 1;
    pthread_join(thread, &result);
    return (long)result;
}
