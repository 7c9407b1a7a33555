// Starts an inspection before `main` if the environment asks for one. `dlsym` finds nothing in an
// executable, so the Swift function is named here, and linked.

#include <stdlib.h>

// In EventingInspection, `Environment.swift`.
extern void eventing_inspection_start(const char *path);

__attribute__((constructor)) static void eventing_inspection_begin(void) {
  const char *path = getenv("EVENTING_INSPECT");
  if (path != NULL && path[0] != '\0') eventing_inspection_start(path);
}
