import Synchronization

extension Event {
  /// A source of occurrences that reached no handler.
  ///
  /// An occurrence reaches no handler if there is none, or if each handler has no room or is
  /// skipped, for instance because of a lock or a filter. This is decided during the delivery. If a
  /// handler's lane or pace accepts an occurrence but drops or skips it later, only
  /// ``SendReport/reachedNobody`` shows that.
  ///
  /// Handlers of this source delay the sender like any others: an inline handler runs on the
  /// delivering thread.
  ///
  /// The source has handlers of its own: `event.unhandled.remove(token)` removes one of them.
  ///
  /// Once this has been used, the event has no fast path, like an event with observers.
  public nonisolated var unhandled: some EventSource<EventOccurrence<Payload>> {
    (core.unhandled() as Event<EventOccurrence<Payload>>).source
  }
}

extension EventCore {
  func unhandled<Payload: Sendable>() -> Event<EventOccurrence<Payload>> {
    let rareState = rareState
    let event = Event<EventOccurrence<Payload>>("unhandled")
    let made = UnhandledEvent(event) { payload, sender, name, sequence, instant in
      event.post(
        EventOccurrence(
          payload: payload.payload(Payload.self), sender: sender, eventName: name, sequence: sequence, instant: instant),
        from: sender)
    }
    let unhandled = rareState.unhandledReference.load() ?? rareState.unhandledReference.set(made)
    // The thread that created the `unhandled` event may not have closed the fast path yet.
    if !unhandled.isEffective.load(ordering: .acquiring) {
      change {
        self.updateMustEnqueue()
        unhandled.isEffective.publish(true)
      }
    }
    // `Payload` is always this core's payload type, so the cast succeeds.
    guard let occurrences = unhandled.event as? Event<EventOccurrence<Payload>> else {
      preconditionFailure("the unhandled event of an event has occurrences of its payloads")
    }
    return occurrences
  }

  // Isolation: core.
  func reportIfUnhandled(_ payload: BorrowedPayload, _ delivery: borrowing Delivery) {
    guard let unhandled = rareStateReference.load()?.unhandledReference.load() else { return }
    guard delivery.report.reachedNobody && delivery.enqueued == 0 else { return }
    unhandled.post(payload, delivery.sender, name, delivery.sequence, (delivery.instant ?? .now).instant)
  }
}

@usableFromInline package final class UnhandledEvent: Sendable {
  typealias Post =
    @Sendable (BorrowedPayload, (any AnyObject & Sendable)?, String?, UInt64, ContinuousClock.Instant) -> Void
  let event: any AnyEvent
  let post: Post
  let isEffective = Atomic<Bool>(false)

  init(_ event: any AnyEvent, _ post: @escaping Post) {
    self.event = event
    self.post = post
  }
}
