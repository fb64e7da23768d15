/* Starts a program by a list of words, in a child: lists HOW PROGRAM. It says what the child ended with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words) {
    char *program = words[2], *environment[] = {"A=1", NULL};
    pid_t child = fork();
    if (child == 0) {
        if (!strcmp(words[1], "execl")) execl(program, program, "a", NULL);
        if (!strcmp(words[1], "long")) execl(program, program, "1", "2", "3", "4", "5", "6", "7", "8", NULL);
        if (!strcmp(words[1], "five")) execl(program, program, "1", "2", "3", NULL);
        if (!strcmp(words[1], "six")) execl(program, program, "1", "2", "3", "4", NULL);
        if (!strcmp(words[1], "execlp")) execlp(program, program, "a", "b", NULL);
        if (!strcmp(words[1], "execle")) execle(program, program, "1", "2", NULL, environment);
        if (!strcmp(words[1], "execle4")) execle(program, program, "1", "2", "3", NULL, environment);
        if (!strcmp(words[1], "execle9")) execle(program, program, "1", "2", "3", "4", "5", "6", "7", "8", NULL, environment);
        perror(words[1]);
        _exit(99);
    }
    int status;
    waitpid(child, &status, 0);
    printf("%s %d\n", words[1], WEXITSTATUS(status));
    return 0;
}
