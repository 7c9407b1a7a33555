// The functions that the harness looks up by name in the preloaded library. cmeasure.h declares the
// type of the counts.
#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

#include "../../CMeasure/include/cmeasure.h"

void allocation_counter_enable(bool on);
cm_allocation_counts allocation_counter_read(void);

#endif
