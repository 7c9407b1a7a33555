#include "cmeasure.h"
#include <pthread.h>
#include <sched.h>

enum { max_threads = 64 };

typedef struct {
  cm_thread_body body;
  void *context;
  int index;
  intptr_t *ready, *go;
  intptr_t start, end;
} runner;

static void *run(void *argument) {
  runner *r = argument;
  cm_add(r->ready, 1);
  while (!cm_load(r->go)) sched_yield();
  r->start = cm_now();
  r->body(r->context, r->index);
  r->end = cm_now();
  return 0;
}

intptr_t cm_run_threads(int n, cm_thread_body body, void *context) {
  pthread_t threads[max_threads];
  runner runners[max_threads];
  intptr_t ready = 0, go = 0;
  if (n > max_threads) n = max_threads;
  for (int i = 0; i < n; i++) {
    runners[i] = (runner){body, context, i, &ready, &go, 0, 0};
    pthread_create(&threads[i], 0, run, &runners[i]);
  }
  while (cm_load(&ready) < n) sched_yield();
  cm_store(&go, 1);
  intptr_t first = INTPTR_MAX, last = 0;
  for (int i = 0; i < n; i++) {
    pthread_join(threads[i], 0);
    if (runners[i].start < first) first = runners[i].start;
    if (runners[i].end > last) last = runners[i].end;
  }
  return last - first;
}
