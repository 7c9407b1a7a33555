// Sources of failures, and of changes that reached no handler.

extension Observed {
  /// A source of the errors that handlers of changes throw: see ``Event/failures``.
  public var failures: some EventSource<HandlerFailure> { storage.event.failures }

  /// A source of the changes at which a handler failed, after its last attempt, as the handler
  /// received them: see ``Event/deadLetters``. A handler of the value, or of ``newValues``,
  /// receives the new value only.
  public var deadLetters: some EventSource<DeadLetter<ValueChange<Value>>> { storage.event.deadLetters }

  /// A source of the changes that reached no handler: see ``Event/unhandled``. Announcements
  /// (``Observed/changes(initial:prior:)``) are not among them.
  public var unhandled: some EventSource<EventOccurrence<ValueChange<Value>>> {
    storage.event.unhandled.filter { !$0.payload.isPrior }
  }
}
