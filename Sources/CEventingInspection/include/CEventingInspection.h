#ifndef CEVENTING_INSPECTION_H
#define CEVENTING_INSPECTION_H

#include <sys/types.h>

/// Reads the user id of the process at the other end of a Unix socket. Returns 0, or -1 on an error.
int eventing_inspection_peer(int socket, uid_t *user);

#endif
