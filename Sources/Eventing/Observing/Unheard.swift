import Synchronization

extension Event {
  /// A source of the occurrences that reached no handler.
  ///
  /// There was no handler, or each handler was skipped, for instance because of a lock or a filter,
  /// or had no room. That is decided at the delivery. If a handler's lane or pace takes an
  /// occurrence, and drops or skips it later, only ``SendReport/reachedNobody`` tells of it.
  ///
  /// A handler of this source delays the sender as other handlers do: an inline handler runs on the
  /// thread that delivers.
  ///
  /// The source has handlers of its own: `event.unheard.remove(token)` removes one of them.
  ///
  /// From the first use on, the event has no fast path, like an event with observers.
  public nonisolated var unheard: some EventSource<Occurrence<Payload>> {
    (core.unheard(name) as Event<Occurrence<Payload>>).source
  }
}

extension EventCore {
  /// Returns the event of occurrences that reached no handler. It is created at the first call.
  ///
  /// Callable from any thread.
  func unheard<Payload: Sendable>(_ name: String?) -> Event<Occurrence<Payload>> {
    let pendingWork = pendingWork
    let event = Event<Occurrence<Payload>>("unheard")
    let made = UnheardEvent(name, event) { payload, sender, name, sequence, instant in
      event.post(
        Occurrence(
          payload: payload.payload(Payload.self), sender: sender, eventName: name, sequence: sequence, instant: instant),
        from: sender)
    } finish: {
      event.finish()
    }
    let unheard = pendingWork.unheardReference.load() ?? pendingWork.unheardReference.set(made)
    // The thread that made the `unheard` event may not have closed the fast path yet.
    if !unheard.isEffective.load(ordering: .acquiring) {
      change {
        self.updateMustEnqueue()
        unheard.isEffective.publish(true)
      }
    }
    // `Payload` is the payload type of this core's event, whichever thread calls. So the cast
    // succeeds, even if another thread made the `unheard` event.
    guard let occurrences = unheard.event as? Event<Occurrence<Payload>> else {
      preconditionFailure("the unheard event of an event has occurrences of its payloads")
    }
    return occurrences
  }

  /// Posts an occurrence to the `unheard` event if the occurrence reached no handler. Called after
  /// the delivery. Isolation: core.
  func reportIfUnheard(_ payload: BorrowedPayload, _ tally: borrowing DeliveryTally) {
    guard let unheard = pendingWorkReference.load()?.unheardReference.load() else { return }
    guard tally.report.reachedNobody && tally.enqueued == 0 else { return }
    unheard.post(payload, tally.sender, unheard.name, tally.sequence, (tally.instant ?? .now).instant)
  }
}

/// The event of occurrences that reached no handler, with its payload type erased.
@usableFromInline final class UnheardEvent: Sendable {
  typealias Post =
    @Sendable (BorrowedPayload, (any AnyObject & Sendable)?, String?, UInt64, ContinuousClock.Instant) -> Void
  /// The event, an `Event` of occurrences.
  let event: any AnyObject & Sendable
  /// The name of the event that posts to the `unheard` event.
  let name: String?
  /// Posts an occurrence to the `unheard` event.
  let post: Post
  /// Finishes the `unheard` event.
  let finish: @Sendable () -> Void
  /// Whether the event that posts to the `unheard` event has closed its fast path. The fast path
  /// does not notice that an occurrence reaches no handler. Once the fast path is closed, each such
  /// occurrence is posted to the `unheard` event.
  let isEffective = Atomic<Bool>(false)

  init(
    _ name: String?, _ event: any AnyObject & Sendable, _ post: @escaping Post, finish: @escaping @Sendable () -> Void
  ) {
    self.name = name
    self.event = event
    self.post = post
    self.finish = finish
  }
}
