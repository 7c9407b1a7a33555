#include "cmeasure.h"

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
#include <malloc.h>
intptr_t cm_heap_bytes(void) {
  struct mallinfo2 heap = mallinfo2();
  return (intptr_t)(heap.uordblks + heap.hblkhd);
}
#elif defined(__APPLE__)
#include <malloc/malloc.h>
intptr_t cm_heap_bytes(void) {
  malloc_statistics_t heap;
  malloc_zone_statistics(NULL, &heap);
  return (intptr_t)heap.size_in_use;
}
#else
intptr_t cm_heap_bytes(void) { return -1; }
#endif
