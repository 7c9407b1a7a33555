// Starts an inspection before `main` if the environment asks for one. `dlsym` finds nothing in an
// executable, so the Swift function is named here, and linked.

#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

// In EventingInspection, `Environment.swift`.
extern void eventing_inspection_start(const char *path);

__attribute__((constructor)) static void eventing_inspection_begin(void) {
  // Not in a program with the rights of another user than the one who started it.
#if defined(__linux__)
  const char *path = secure_getenv("EVENTING_INSPECT");
#else
  const char *path = issetugid() ? NULL : getenv("EVENTING_INSPECT");
#endif
  if (path != NULL && path[0] != '\0') eventing_inspection_start(path);
}
