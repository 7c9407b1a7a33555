#include "cmeasure.h"
#include <unistd.h>

void cm_sleep(intptr_t microseconds) { usleep((useconds_t)microseconds); }

intptr_t cm_sum(const intptr_t *p, intptr_t n) {
  uintptr_t sum = 0;
  for (intptr_t i = 0; i < n; i++) sum += (uintptr_t)cm_read(p + i);
  return (intptr_t)sum;
}
