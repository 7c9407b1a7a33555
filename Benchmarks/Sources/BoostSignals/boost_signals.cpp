#include "boost_signals.h"

#if __has_include(<boost/signals2.hpp>)

#include <boost/signals2.hpp>
#include <boost/version.hpp>
#include <vector>

namespace signals = boost::signals2;

namespace {
/// A signal with boost's default mutex, which makes it thread-safe like the other peers.
using Signal = signals::signal<void(intptr_t)>;

struct Hit {
  intptr_t *cell;
  int shift;
  void operator()(intptr_t payload) const { cell[payload >> shift] += payload; }
};
}  // namespace

struct boost_event {
  Signal signal;
  std::vector<signals::connection> connections;
  /// Reserves all memory of the connections now, so that the measured bytes of a handler are the
  /// library's alone.
  boost_event() { connections.reserve(1 << 20); }
};

extern "C" {
bool boost_signals_are_there(void) { return true; }
const char *boost_signals_version(void) { return BOOST_LIB_VERSION; }

boost_event *boost_event_make(void) { return new boost_event; }
void boost_signal_make(void) {
  static Signal *volatile last;
  last = new Signal;
}
void boost_event_free(boost_event *event) { delete event; }

void boost_event_add(boost_event *event, intptr_t *cell, int shift) {
  event->connections.push_back(event->signal.connect(Hit{cell, shift}));
}

void boost_event_add_ranked(boost_event *event, intptr_t *cell, int shift, intptr_t group) {
  event->connections.push_back(event->signal.connect(int(group), Hit{cell, shift}));
}

void boost_event_send(boost_event *event, intptr_t first, intptr_t count) {
  for (intptr_t value = first; value < first + count; value++) event->signal(value);
}

void boost_event_add_remove(boost_event *event, intptr_t *cell, int shift, intptr_t count) {
  for (intptr_t i = 0; i < count; i++) event->signal.connect(Hit{cell, shift}).disconnect();
}

void boost_event_add_remove_ranked(boost_event *event, intptr_t *cell, int shift, intptr_t count, intptr_t group) {
  for (intptr_t i = 0; i < count; i++) event->signal.connect(int(group), Hit{cell, shift}).disconnect();
}

void boost_event_replace(boost_event *event, intptr_t *cell, int shift, intptr_t index) {
  event->connections[size_t(index)].disconnect();
  event->connections[size_t(index)] = event->signal.connect(Hit{cell, shift});
}

void boost_event_once(boost_event *event, intptr_t *cell, int shift, intptr_t first, intptr_t count) {
  for (intptr_t value = first; value < first + count; value++) {
    event->signal.connect_extended([=](const signals::connection &self, intptr_t payload) {
      self.disconnect();
      cell[payload >> shift] += payload;
    });
    event->signal(value);
  }
}
}

#else

extern "C" {
bool boost_signals_are_there(void) { return false; }
const char *boost_signals_version(void) { return ""; }
boost_event *boost_event_make(void) { __builtin_trap(); }
void boost_signal_make(void) { __builtin_trap(); }
void boost_event_free(boost_event *) { __builtin_trap(); }
void boost_event_add(boost_event *, intptr_t *, int) { __builtin_trap(); }
void boost_event_add_ranked(boost_event *, intptr_t *, int, intptr_t) { __builtin_trap(); }
void boost_event_send(boost_event *, intptr_t, intptr_t) { __builtin_trap(); }
void boost_event_add_remove(boost_event *, intptr_t *, int, intptr_t) { __builtin_trap(); }
void boost_event_add_remove_ranked(boost_event *, intptr_t *, int, intptr_t, intptr_t) { __builtin_trap(); }
void boost_event_replace(boost_event *, intptr_t *, int, intptr_t) { __builtin_trap(); }
void boost_event_once(boost_event *, intptr_t *, int, intptr_t, intptr_t) { __builtin_trap(); }
}

#endif
