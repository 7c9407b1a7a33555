#include "cmeasure.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static intptr_t last_kick;
static char last_label[256];
static int patience;

static void *watch(void *unused) {
  (void)unused;
  for (;;) {
    sleep(1);
    intptr_t kick = cm_load(&last_kick);
    if (kick && cm_now() - kick > (intptr_t)patience * 1000000000) {
      fprintf(stderr, "\nNo progress for %d s at: %s\n", patience, last_label);
      fflush(NULL);
      _exit(97);
    }
  }
  return NULL;
}

void cm_watchdog_start(int seconds) {
  patience = seconds;
  pthread_t thread;
  pthread_create(&thread, NULL, watch, NULL);
  pthread_detach(thread);
}

void cm_watchdog_kick(const char *label) {
  if (label) strncpy(last_label, label, sizeof last_label - 1);
  cm_store(&last_kick, cm_now());
}
