// The parts of the harness in C: clocks, volatile reads, atomics on raw memory, threads that start
// together, and requests to the tools around the program (the allocation counter, callgrind).
#ifndef CMEASURE_H
#define CMEASURE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

// ---- clocks, in nanoseconds ----
static inline intptr_t cm_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (intptr_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static inline intptr_t cm_now(void) { return cm_clock(CLOCK_MONOTONIC); }
/// Returns the CPU time of the process, over all threads.
static inline intptr_t cm_process_cpu(void) { return cm_clock(CLOCK_PROCESS_CPUTIME_ID); }

/// Executes the pause instruction of a spin loop.
static inline void cm_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
void cm_sleep(intptr_t microseconds);

// ---- volatile reads, which the compiler cannot fold ----
static inline intptr_t cm_read(const intptr_t *p) { return *(volatile const intptr_t *)p; }
/// Returns the wrapping sum of `n` words.
intptr_t cm_sum(const intptr_t *p, intptr_t n);

// ---- atomics on words that the harness owns ----
static inline intptr_t cm_load(const intptr_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void cm_store(intptr_t *p, intptr_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
static inline intptr_t cm_add(intptr_t *p, intptr_t v) { return __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL); }

// ---- allocations, counted only when the library AllocationCounter is preloaded ----
typedef struct {
  intptr_t allocations;   // calls that returned a new block
  intptr_t live_blocks;
  intptr_t live_bytes;    // usable size plus header of each block: the heap memory in use
  intptr_t requested;     // sum of the requested bytes
} cm_allocation_counts;
bool cm_counts_allocations(void);
void cm_count_allocations(bool on);
cm_allocation_counts cm_allocations(void);

// ---- the heap, without a tool ----
/// Returns the bytes in use, or -1 where the C library does not tell.
intptr_t cm_heap_bytes(void);

// ---- callgrind: counts the instructions between begin and end, if the program runs under it ----
bool cm_on_valgrind(void);
void cm_instructions_begin(void);
/// Stops counting, and writes the next dump of callgrind's output file.
void cm_instructions_end(const char *label);

// ---- threads ----
typedef void (*cm_thread_body)(void *context, int index);
/// Runs `body` on `n` threads, at most 64, that wait for each other and then begin together.
/// Returns the nanoseconds from the first start to the last end.
intptr_t cm_run_threads(int n, cm_thread_body body, void *context);

// ---- a client of a Unix socket ----
/// Connects to a socket and sends a text. A new thread then reads and drops all that comes until
/// the other side closes. Returns the descriptor, or -1.
int cm_client_begin(const char *path, const char *greeting);

// ---- watchdog: ends the program with status 97 after so many seconds without progress ----
void cm_watchdog_start(int seconds);
/// Reports progress at a label, which the watchdog prints when it ends the program. NULL keeps the
/// previous label.
void cm_watchdog_kick(const char *label);

#endif
