/* Keeps every live block of CPython's allocator of objects in a table of its own, from before the interpreter is initialised (LD_PRELOAD), and counts the
   objects among them by type: the truth that `genba heap` is compared with. One thread. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct {
    void *ctx;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *);
} Allocator;

enum { PLACES = 1 << 23, OBJECTS = 2, FLAGS = 168, MANAGED = (1 << 3) | (1 << 4), HAVE_GC = 1 << 14 };
static struct { uintptr_t at; size_t bytes; } *blocks;
static Allocator before;

static size_t place(uintptr_t at) { return (at >> 4) * 0x9e3779b97f4a7c15u >> 41; }

static void add(void *block, size_t bytes) {
    if (!block) return;
    size_t i = place((uintptr_t)block);
    while (blocks[i].at) i = (i + 1) % PLACES;
    blocks[i].at = (uintptr_t)block;
    blocks[i].bytes = bytes;
}

static void drop(void *block) {
    size_t i = place((uintptr_t)block);
    while (blocks[i].at != (uintptr_t)block) {
        if (!blocks[i].at) return;
        i = (i + 1) % PLACES;
    }
    /* Those behind it move up, so that no gap ends a search. */
    for (size_t j = (i + 1) % PLACES; blocks[j].at; j = (j + 1) % PLACES) {
        size_t home = place(blocks[j].at);
        if ((j - home) % PLACES >= (j - i) % PLACES) {
            blocks[i] = blocks[j];
            i = j;
        }
    }
    blocks[i].at = 0;
}

static void *malloc_kept(void *ctx, size_t bytes) { void *b = before.malloc(ctx, bytes); add(b, bytes); return b; }
static void *calloc_kept(void *ctx, size_t n, size_t bytes) { void *b = before.calloc(ctx, n, bytes); add(b, n * bytes); return b; }
static void *realloc_kept(void *ctx, void *old, size_t bytes) {
    void *b = before.realloc(ctx, old, bytes);
    if (b) { if (old) drop(old); add(b, bytes); }
    return b;
}
static void free_kept(void *ctx, void *block) { if (block) drop(block); before.free(ctx, block); }

__attribute__((constructor)) static void begin(void) {
    void (*get)(int, Allocator *) = dlsym(RTLD_DEFAULT, "PyMem_GetAllocator");
    void (*set)(int, Allocator *) = dlsym(RTLD_DEFAULT, "PyMem_SetAllocator");
    if (!get || !set) return;
    blocks = mmap(0, PLACES * sizeof *blocks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    get(OBJECTS, &before);
    Allocator ours = { before.ctx, malloc_kept, calloc_kept, realloc_kept, free_kept };
    set(OBJECTS, &ours);
}

static long index_of(uintptr_t type, const uintptr_t *types, long n) {
    long low = 0, high = n;
    while (low < high) {
        long middle = (low + high) / 2;
        if (types[middle] < type) low = middle + 1; else high = middle;
    }
    return low < n && types[low] == type ? low : -1;
}

static uint64_t word(uintptr_t at) { return *(uint64_t *)at; }

/* `types`: sorted. */
long count(const uintptr_t *types, int64_t *counts, long n, int minor) {
    long found = 0;
    for (size_t i = 0; i < PLACES; i++) {
        for (int offset = 0; blocks[i].at && offset <= 32 && offset + 16 <= (long)blocks[i].bytes; offset += 16) {
            uintptr_t object = blocks[i].at + offset;
            long index = index_of(word(object + 8), types, n);
            if (index < 0 || !(uint32_t)word(object)) continue;
            uint64_t flags = word(types[index] + FLAGS);
            uint64_t managed = minor == 11 ? flags & (1 << 4) : flags & MANAGED;
            if (offset == (flags & HAVE_GC ? managed ? 32 : 16 : 0)) { counts[index]++; found++; break; }
        }
    }
    return found;
}

/* Objects of one type in the runtime's own structure. (What lies elsewhere is the template that the structure is made from, and frozen modules.) */
long count_static(uintptr_t type) {
    Dl_info info;
    ElfW(Sym) *symbol = 0;
    uintptr_t runtime = (uintptr_t)dlsym(RTLD_DEFAULT, "_PyRuntime");
    long found = 0;
    if (!dladdr1((void *)runtime, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol) return -1;
    for (uintptr_t at = runtime + 8; at + 8 <= runtime + symbol->st_size; at += 8)
        /* A count in front of it, and no address. */
        if (word(at) == type && (uint32_t)word(at - 8) && (uint32_t)(word(at - 8) >> 32) < 0x10000) found++;
    return found;
}
