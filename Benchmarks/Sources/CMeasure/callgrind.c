// Without the header of valgrind these functions do nothing, and report that valgrind is absent.
#include "cmeasure.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>

bool cm_on_valgrind(void) { return RUNNING_ON_VALGRIND != 0; }
void cm_instructions_begin(void) {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
}
void cm_instructions_end(const char *label) {
  CALLGRIND_DUMP_STATS_AT(label);
  CALLGRIND_STOP_INSTRUMENTATION;
}
#else
bool cm_on_valgrind(void) { return false; }
void cm_instructions_begin(void) {}
void cm_instructions_end(const char *label) { (void)label; }
#endif
