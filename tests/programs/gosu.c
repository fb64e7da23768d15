/* As gosu: linked statically, it goes on as another user. `gosu USER COMMAND…`; the user is nobody, whatever the name. */
#define _GNU_SOURCE
#include <grp.h>
#include <unistd.h>

int main(int count, char **words)
{
    if (count < 3 || setgroups(0, 0) || setgid(65534) || setuid(65534))
        return 8;
    execvp(words[2], words + 2);
    return 9;
}
