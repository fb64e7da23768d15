/* Stops of a thread, as the thread itself sees them: it reads its clock all the time, and where the clock has jumped while the kernel counted a voluntary
   switch (getrusage(2), ru_nvcsw), it was stopped, because it never waits by itself. When another thread got its CPU, the kernel counts elsewhere (ru_nivcsw).
   With each stop goes the part in which the thread had been let go, or not stopped yet, and waited for a CPU (proc_pid_schedstat(5)): on a busy machine
   that is most of it. Used by stopped.py. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Below it nothing is looked up: two switches take longer. */
#define JUMP_NS_MIN 2000LL

struct stop {
    long long whole_ns, queued_ns;
};

static atomic_int over;

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long switches(void) {
    struct rusage used;
    getrusage(RUSAGE_THREAD, &used);
    return used.ru_nvcsw;
}

/* The time that the thread waited for a CPU so far. */
static long long queued_ns(int schedstat) {
    char text[96];
    long long on_cpu, queued = 0;
    ssize_t length = pread(schedstat, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = 0;
    sscanf(text, "%lld %lld", &on_cpu, &queued);
    return queued;
}

/* Until `end` is called. `stops` has room for `room` of them; `count` says how many there were. */
void watch(struct stop *stops, long room, _Atomic long *count) {
    int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    long switched = switches();
    long long queued = queued_ns(schedstat), last = now_ns();
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        long long now = now_ns();
        if (now - last >= JUMP_NS_MIN) {
            long switched_now = switches();
            long long queued_now = queued_ns(schedstat);
            long at = atomic_load_explicit(count, memory_order_relaxed);
            if (switched_now != switched) {
                if (at < room)
                    stops[at] = (struct stop){now - last, queued_now - queued};
                atomic_store_explicit(count, at + 1, memory_order_release);
            }
            switched = switched_now;
            queued = queued_now;
            /* What was looked up is no jump; a stop meanwhile is in the next one's counts. */
            long long looked_up = now_ns();
            last = looked_up - now < 20 * JUMP_NS_MIN ? looked_up : now;
        } else {
            last = now;
        }
    }
    close(schedstat);
}

void end(void) {
    over = 1;
}
