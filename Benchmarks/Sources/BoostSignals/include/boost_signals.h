// boost::signals2 for Swift: a signal of one integer, in the batches that the harness asks for. The loops are here, around the
// library's own calls, so nothing of Swift is measured.
#ifndef BOOST_SIGNALS_H
#define BOOST_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// False where it was built without the headers of boost; then nothing below may be called.
bool boost_signals_are_there(void);
/// "1_74", or an empty string.
const char *boost_signals_version(void);

typedef struct boost_event boost_event;

boost_event *boost_event_make(void);
/// The signal alone, for ever: to see how many bytes it is.
void boost_signal_make(void);
void boost_event_free(boost_event *event);

/// A handler adds each payload to the word of `cell` that the payload, shifted by `shift`, says.
void boost_event_add(boost_event *event, intptr_t *cell, int shift);
/// The same, in a group of that number: groups are called in their order.
void boost_event_add_ranked(boost_event *event, intptr_t *cell, int shift, intptr_t group);
void boost_event_send(boost_event *event, intptr_t first, intptr_t count);
void boost_event_add_remove(boost_event *event, intptr_t *cell, int shift, intptr_t count);
void boost_event_add_remove_ranked(boost_event *event, intptr_t *cell, int shift, intptr_t count, intptr_t group);
/// Removes the handler that was added as the `index`-th, and adds one in its place.
void boost_event_replace(boost_event *event, intptr_t *cell, int shift, intptr_t index);
/// For each payload: adds a handler that disconnects itself in its call, and sends.
void boost_event_once(boost_event *event, intptr_t *cell, int shift, intptr_t first, intptr_t count);

#ifdef __cplusplus
}
#endif

#endif
