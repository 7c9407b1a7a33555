// Counts the allocations of the process. Preload this library (LD_PRELOAD); no target links it.
// Without the GNU C library, this file is empty, and the harness reports that it cannot count.
#define _GNU_SOURCE
#include "allocation_counter.h"

#if defined(__linux__)
#include <features.h>
#endif
#if defined(__GLIBC__)
#include <errno.h>
#include <malloc.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static cm_allocation_counts counts;
static int enabled;
enum { block_header = 8 };

static inline void add(intptr_t *counter, intptr_t n) { __atomic_fetch_add(counter, n, __ATOMIC_RELAXED); }

static inline void *made(void *block, size_t size) {
  if (block && enabled) {
    add(&counts.allocations, 1);
    add(&counts.live_blocks, 1);
    add(&counts.live_bytes, (intptr_t)malloc_usable_size(block) + block_header);
    add(&counts.requested, (intptr_t)size);
  }
  return block;
}
static inline void gone(void *block) {
  if (block && enabled) {
    add(&counts.live_blocks, -1);
    add(&counts.live_bytes, -((intptr_t)malloc_usable_size(block) + block_header));
  }
}

void *malloc(size_t size) { return made(__libc_malloc(size), size); }
void *calloc(size_t n, size_t size) { return made(__libc_calloc(n, size), n * size); }
void *memalign(size_t alignment, size_t size) { return made(__libc_memalign(alignment, size), size); }
void *aligned_alloc(size_t alignment, size_t size) { return made(__libc_memalign(alignment, size), size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
  void *block = made(__libc_memalign(alignment, size), size);
  if (!block) return ENOMEM;
  *out = block;
  return 0;
}
void free(void *block) {
  gone(block);
  int kept = errno;
  __libc_free(block);
  errno = kept;
}
void *realloc(void *block, size_t size) {
  if (!block) return malloc(size);
  gone(block);
  void *moved = __libc_realloc(block, size);
  return moved ? made(moved, size) : NULL;
}

void allocation_counter_enable(bool on) { __atomic_store_n(&enabled, on, __ATOMIC_SEQ_CST); }
cm_allocation_counts allocation_counter_read(void) { return counts; }
#endif
