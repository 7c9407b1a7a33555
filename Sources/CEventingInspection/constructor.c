// Starts an inspection before `main` if the environment variable asks for one. The Swift function
// is declared and linked here, because `dlsym` does not find functions of an executable.

#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

// Defined in `Environment.swift` of EventingInspection.
extern void eventing_inspection_start(const char *path);

__attribute__((constructor)) static void eventing_inspection_begin(void) {
  // `secure_getenv` ignores the variable in a program that runs with the rights of another user
  // than the one who started it.
#if defined(__linux__)
  const char *path = secure_getenv("EVENTING_INSPECT");
#else
  const char *path = issetugid() ? NULL : getenv("EVENTING_INSPECT");
#endif
  if (path != NULL && path[0] != '\0') eventing_inspection_start(path);
}
