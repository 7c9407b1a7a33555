// Sources of failures, and of occurrences that reached no handler.

extension KeyedEvent {
  /// A source of the errors that handlers of any key throw: see ``Event/failures``.
  public var failures: some EventSource<HandlerFailure> { event.failures }

  /// A source of the payloads at which a handler failed, after its last attempt, with the key that
  /// they were sent to: see ``Event/deadLetters``.
  public var deadLetters: some EventSource<DeadLetter<(key: Key, payload: Payload)>> {
    event.deadLetters.map { letter in
      DeadLetter(payload: (key: letter.payload.key, payload: letter.payload.payload), failure: letter.failure)
    }
  }

  /// A source of the occurrences that reached no handler of their key, nor of ``anyKey``: see
  /// ``Event/unhandled``.
  public var unhandled: some EventSource<EventOccurrence<(key: Key, payload: Payload)>> {
    event.unhandled.map { whole in
      whole.with((key: whole.payload.key, payload: whole.payload.payload))
    }
  }
}
