// Looks up the functions of the preloaded allocation counter, if there is one.
#define _GNU_SOURCE
#include "cmeasure.h"
#include <dlfcn.h>
#include <stddef.h>

typedef cm_allocation_counts (*read_function)(void);
typedef void (*enable_function)(bool);

static void *find(const char *name) { return dlsym(RTLD_DEFAULT, name); }

bool cm_counts_allocations(void) { return find("allocation_counter_read") != NULL; }

void cm_count_allocations(bool on) {
  enable_function enable = (enable_function)find("allocation_counter_enable");
  if (enable) enable(on);
}

cm_allocation_counts cm_allocations(void) {
  static read_function read;
  if (!read) read = (read_function)find("allocation_counter_read");
  cm_allocation_counts none = {0};
  return read ? read() : none;
}
