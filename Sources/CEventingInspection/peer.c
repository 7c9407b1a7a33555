#ifdef __linux__
#define _GNU_SOURCE
#endif

#include "CEventingInspection.h"

#include <sys/socket.h>
#include <unistd.h>

int eventing_inspection_peer(int descriptor, uid_t *user) {
#ifdef __linux__
  struct ucred peer;
  socklen_t length = sizeof(peer);
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return -1;
  *user = peer.uid;
  return 0;
#else
  gid_t group;
  return getpeereid(descriptor, user, &group);
#endif
}
