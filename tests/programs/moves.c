/* A library that copies by the dynamic linker's memmove and memcpy; with a table of read-only slots (-z now), or with slots that are filled in at the first call (-z lazy). */
#include <string.h>

int moves(char *to, const char *from, unsigned long bytes)
{
    memcpy(to, from, bytes);
    memmove(to + 1, to, bytes - 1);
    return to[0] == from[0] && !memcmp(to + 1, from, bytes - 1);
}
