// Measures libnats without Swift, with 100 bytes a message:  yardstick ROW ADDRESS COUNT
//
// If ROW receives, the program first prints "ready". The last line of the output is the result: messages per second, or
// microseconds.
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 100 };
static char payload[SIZE];
static natsConnection *connection;
static jsCtx *stream;

static void check(natsStatus status, const char *what) {
  if (status == NATS_OK) return;
  fprintf(stderr, "expected %s to succeed: %s\n", what, natsStatus_GetText(status));
  exit(1);
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void percentiles(int64_t *times, int count) {
  qsort(times, count, sizeof *times, ascending);
  printf("p50 %.0f p99 %.0f\n", times[count / 2] / 1e3, times[count * 99 / 100] / 1e3);
}

static void rate(int64_t count, int64_t begin, int64_t end) { printf("rate %.0f\n", count * 1e9 / (end - begin)); }

// The messages that arrived. Only the thread of the subscription writes; the main thread polls `heard`.
static volatile int64_t heard, first, last;
static int64_t *times;
static int most;

static void hear(natsConnection *c, natsSubscription *s, natsMsg *message, void *closure) {
  last = now();
  if (heard == 0) first = last;
  if (times && heard < most) {
    int64_t sent;
    memcpy(&sent, natsMsg_GetData(message), sizeof sent);
    times[heard] = last - sent;
  }
  heard++;
  natsMsg_Destroy(message);
}

// Waits for `count` messages, or until no message arrives for 0.5 s.
static void wait_for(int count) {
  printf("ready\n");
  fflush(stdout);
  while (heard < count && (heard == 0 || now() - last < 500000000)) usleep(1000);
}

static void publish_all(int count) {
  for (int i = 0; i < count; i++) check(natsConnection_Publish(connection, "bench.plain", payload, SIZE), "publish");
  check(natsConnection_FlushTimeout(connection, 60000), "flush");
}

static void open_stream(void) {
  check(natsConnection_JetStream(&stream, connection, NULL), "JetStream");
  jsStreamConfig config;
  jsStreamConfig_Init(&config);
  const char *subjects[] = {"c.>"};
  config.Name = "C";
  config.Subjects = subjects;
  config.SubjectsLen = 1;
  jsStreamInfo *info = NULL;
  js_AddStream(&info, stream, &config, NULL, NULL);  // fails if the stream exists, which is fine
  jsStreamInfo_Destroy(info);
}

static void store_many(int count) {
  for (int i = 0; i < count; i++) check(js_PublishAsync(stream, "c.many", payload, SIZE, NULL), "store");
  check(js_PublishAsyncComplete(stream, NULL), "complete");
}

int main(int count_of_arguments, char **arguments) {
  if (count_of_arguments != 4) return fprintf(stderr, "expected: yardstick ROW ADDRESS COUNT\n"), 64;
  const char *row = arguments[1];
  int count = most = atoi(arguments[3]);
  natsOptions *options;
  check(natsOptions_Create(&options), "options");
  natsOptions_SetURL(options, arguments[2]);
  int is_timed = !strncmp(row, "delay", 5);
  natsOptions_SetSendAsap(options, is_timed);  // otherwise libnats collects messages for up to 1 ms
  check(natsConnection_Connect(&connection, options), "connect");
  memset(payload, 'x', SIZE);
  natsSubscription *subscription = NULL;
  int64_t begin = now();

  if (!strcmp(row, "publish") || !strcmp(row, "send")) {
    publish_all(count);
    rate(count, begin, now());
  } else if (!strcmp(row, "hear")) {
    check(natsConnection_Subscribe(&subscription, connection, "bench.plain", hear, NULL), "subscribe");
    wait_for(count);
    rate(heard, first, last);
  } else if (!strcmp(row, "delay-send")) {
    for (int i = 0; i < count; i++) {
      int64_t sent = now();
      memcpy(payload, &sent, sizeof sent);
      check(natsConnection_Publish(connection, "bench.delay", payload, SIZE), "publish");
      usleep(1000);
    }
    natsConnection_Flush(connection);
  } else if (!strcmp(row, "delay")) {
    times = calloc(count, sizeof *times);
    check(natsConnection_Subscribe(&subscription, connection, "bench.delay", hear, NULL), "subscribe");
    wait_for(count);
    percentiles(times, heard < count ? heard : count);
  } else if (!strcmp(row, "store")) {
    open_stream();
    times = calloc(count, sizeof *times);
    for (int i = 0; i < count; i++) {
      int64_t sent = now();
      jsPubAck *ack = NULL;
      check(js_Publish(&ack, stream, "c.one", payload, SIZE, NULL, NULL), "store");
      jsPubAck_Destroy(ack);
      times[i] = now() - sent;
    }
    percentiles(times, count);
  } else if (!strcmp(row, "store-many")) {
    open_stream();
    jsOptions many;
    jsOptions_Init(&many);
    many.PublishAsync.MaxPending = 512;
    jsCtx_Destroy(stream);
    check(natsConnection_JetStream(&stream, connection, &many), "JetStream");
    begin = now();
    store_many(count);
    rate(count, begin, now());
  } else if (!strcmp(row, "consume")) {  // consumes what store-many has stored, and acknowledges each message
    open_stream();
    jsSubOptions how;
    jsSubOptions_Init(&how);
    how.Config.MaxAckPending = 1024;
    check(js_Subscribe(&subscription, stream, "c.many", hear, NULL, NULL, &how, NULL), "subscribe");
    wait_for(count);
    rate(heard, first, last);
  } else {
    return fprintf(stderr, "expected a row, got %s\n", row), 64;
  }
  fflush(stdout);
  _exit(0);  // without closing the connection, because the library's threads may still be in a callback
}
