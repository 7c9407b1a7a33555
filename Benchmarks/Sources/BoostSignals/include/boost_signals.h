// Functions by which Swift uses boost::signals2: a signal of one integer. A function with a `count` performs a whole batch of
// the harness: the loop around the library's calls is in C++, so no Swift code is measured.
#ifndef BOOST_SIGNALS_H
#define BOOST_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Returns whether the headers of boost were found when this file was compiled. If not, no other
/// function may be called, except for the version.
bool boost_signals_are_there(void);
/// Returns the version of boost, such as "1_74", or an empty string.
const char *boost_signals_version(void);

typedef struct boost_event boost_event;

boost_event *boost_event_make(void);
/// Makes a signal without connections that is never freed, to measure its bytes.
void boost_signal_make(void);
void boost_event_free(boost_event *event);

/// Adds a handler. The handler adds each payload to the word `cell[payload >> shift]`.
void boost_event_add(boost_event *event, intptr_t *cell, int shift);
/// Adds such a handler to a group. Groups are called in the order of their numbers.
void boost_event_add_ranked(boost_event *event, intptr_t *cell, int shift, intptr_t group);
void boost_event_send(boost_event *event, intptr_t first, intptr_t count);
void boost_event_add_remove(boost_event *event, intptr_t *cell, int shift, intptr_t count);
void boost_event_add_remove_ranked(boost_event *event, intptr_t *cell, int shift, intptr_t count, intptr_t group);
/// Removes the handler at `index` in the order of addition, and adds one in its place.
void boost_event_replace(boost_event *event, intptr_t *cell, int shift, intptr_t index);
/// For each payload, adds a handler that disconnects itself in its call, then sends the payload.
void boost_event_once(boost_event *event, intptr_t *cell, int shift, intptr_t first, intptr_t count);

#ifdef __cplusplus
}
#endif

#endif
