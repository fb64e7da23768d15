/* A preloaded layer of sockets, as a proxy's: who connects to 192.0.2.1, which is nowhere (RFC 5737), comes to this machine. At the end it writes
   into the file of the variable CALLED, in a Python alone, whether it saw genba's library; then, with the forked children, how often each
   function was called that genba's library hands on, and how often that library called one of the others. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "preloaded.h"

enum {
    ACCEPT, ACCEPT4, CONNECT, RECV, RECVFROM, RECVMSG, SEND, SENDMSG, SENDTO, SETSOCKOPT,
    /* genba's library has no function of its own in front of these. */
    BIND, CLOSE, GETSOCKNAME, LISTEN, SHUTDOWN, SOCKET, SOCKETPAIR, COUNT,
};
static const char *const NAMES[COUNT] = {
    "accept", "accept4", "connect", "recv", "recvfrom", "recvmsg", "send", "sendmsg", "sendto", "setsockopt",
    "bind", "close", "getsockname", "listen", "shutdown", "socket", "socketpair",
};

/* One for all processes that are forked. */
static int *called;

static void meet(int which, void *caller) {
    if (!called) called = mmap(NULL, COUNT * sizeof *called, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int is_counted = is_genba(caller) || which < BIND;
    if (is_counted) __atomic_add_fetch(&called[which], 1, __ATOMIC_SEQ_CST);
}
#define MEET(which) meet(which, __builtin_return_address(0))
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int connect(int socket, __CONST_SOCKADDR_ARG to, socklen_t bytes) {
    MEET(CONNECT);
    struct sockaddr_in here;
    memcpy(&here, to.__sockaddr__, bytes < sizeof here ? bytes : sizeof here);
    if (bytes < sizeof here || here.sin_family != AF_INET || here.sin_addr.s_addr != inet_addr("192.0.2.1")) return NEXT(connect)(socket, to, bytes);
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return NEXT(connect)(socket, (struct sockaddr *)&here, sizeof here);
}
int accept(int socket, __SOCKADDR_ARG from, socklen_t *bytes) { MEET(ACCEPT); return NEXT(accept)(socket, from, bytes); }
int accept4(int socket, __SOCKADDR_ARG from, socklen_t *bytes, int flags) { MEET(ACCEPT4); return NEXT(accept4)(socket, from, bytes, flags); }
ssize_t recv(int socket, void *data, size_t bytes, int flags) { MEET(RECV); return NEXT(recv)(socket, data, bytes, flags); }
ssize_t recvfrom(int socket, void *data, size_t bytes, int flags, __SOCKADDR_ARG from, socklen_t *room) {
    MEET(RECVFROM);
    return NEXT(recvfrom)(socket, data, bytes, flags, from, room);
}
ssize_t recvmsg(int socket, struct msghdr *message, int flags) { MEET(RECVMSG); return NEXT(recvmsg)(socket, message, flags); }
ssize_t send(int socket, const void *data, size_t bytes, int flags) { MEET(SEND); return NEXT(send)(socket, data, bytes, flags); }
ssize_t sendmsg(int socket, const struct msghdr *message, int flags) { MEET(SENDMSG); return NEXT(sendmsg)(socket, message, flags); }
ssize_t sendto(int socket, const void *data, size_t bytes, int flags, __CONST_SOCKADDR_ARG to, socklen_t length) {
    MEET(SENDTO);
    return NEXT(sendto)(socket, data, bytes, flags, to, length);
}
int setsockopt(int socket, int level, int option, const void *value, socklen_t bytes) {
    MEET(SETSOCKOPT);
    return NEXT(setsockopt)(socket, level, option, value, bytes);
}
int bind(int socket, __CONST_SOCKADDR_ARG to, socklen_t bytes) { MEET(BIND); return NEXT(bind)(socket, to, bytes); }
int close(int file) { MEET(CLOSE); return NEXT(close)(file); }
int getsockname(int socket, __SOCKADDR_ARG name, socklen_t *bytes) { MEET(GETSOCKNAME); return NEXT(getsockname)(socket, name, bytes); }
int listen(int socket, int waiting) { MEET(LISTEN); return NEXT(listen)(socket, waiting); }
int shutdown(int socket, int how) { MEET(SHUTDOWN); return NEXT(shutdown)(socket, how); }
int socket(int family, int type, int protocol) { MEET(SOCKET); return NEXT(socket)(family, type, protocol); }
int socketpair(int family, int type, int protocol, int pair[2]) { MEET(SOCKETPAIR); return NEXT(socketpair)(family, type, protocol, pair); }

__attribute__((destructor)) static void told(void) {
    FILE *file = told_file();
    if (!file) return;
    fprintf(file, "%d\n", begin != 0);
    for (int which = 0; which < COUNT; which++)
        if (called && called[which]) fprintf(file, "%s %d\n", NAMES[which], called[which]);
    fclose(file);
}
