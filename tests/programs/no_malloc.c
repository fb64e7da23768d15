/* malloc and its kin, for the process that loaded this library alone (LD_PRELOAD): a copy of it, or a forked child, that calls one of them ends by
   SIGILL. */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t number, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void __libc_free(void *block);

static long owner;

__attribute__((constructor)) static void begin(void) { owner = syscall(SYS_getpid); }

static void check(void) {
    if (owner && syscall(SYS_getpid) != owner) __builtin_trap();
}

void *malloc(size_t bytes) { check(); return __libc_malloc(bytes); }
void *calloc(size_t number, size_t bytes) { check(); return __libc_calloc(number, bytes); }
void *realloc(void *block, size_t bytes) { check(); return __libc_realloc(block, bytes); }
void free(void *block) { check(); __libc_free(block); }
