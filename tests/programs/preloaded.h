/* For preloaded libraries that tell who calls them, genba or the program: where genba's library is, and the file for what they have to tell. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long begin, end;
static int is_busy;

/* To read the table of memory calls functions of libc, which may be the very ones that ask here. */
static void find_genba(void) {
    if (begin || is_busy) return;
    is_busy = 1;
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4400];
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        if (strstr(line, "/genba-agent-") && sscanf(line, "%lx-%lx", &from, &to) == 2) {
            if (!begin) begin = from;
            end = to;
        }
    }
    if (maps) fclose(maps);
    is_busy = 0;
}

static int is_genba(void *caller) {
    find_genba();
    return begin <= (unsigned long)caller && (unsigned long)caller < end;
}

/* The file of the variable CALLED, in a Python alone. */
static FILE *told_file(void) {
    const char *path = strncmp(program_invocation_short_name, "python", 6) ? NULL : getenv("CALLED");
    return path ? fopen(path, "w") : NULL;
}
