extension EventSource {
  /// Returns a sequence of the payloads that are sent from now on.
  ///
  ///     for await fraction in progress.payloads(buffering: .newest(16)) { print(fraction) }
  ///
  /// - Effective on return: the sequence has every payload that is sent after this call, in order,
  ///   whenever the loop begins.
  /// - Iterators are independent, and each has every payload. An iterator that is made after
  ///   another one has taken a payload has only payloads that are sent after it was made.
  /// - If the only iterator is released before its end, the next one goes on with the payload after
  ///   the last one taken: a second `first { … }`, or a loop after one that has left by `break`.
  ///   With ``Buffering/suspendingSender(_:)``, and for what a transport has brought, the sequence
  ///   ends instead: senders would wait for ever, and another listener can take the messages.
  /// - Cancelling the task ends the loop at once. The sequence is removed from its event before
  ///   `next` returns. In a task that is cancelled already, `next` returns at once.
  /// - The sequence ends with its event, after the payloads that were sent. It does not retain the
  ///   event. It is removed from the event when it and its iterators are released, and when a
  ///   cancelled task has ended its last iterator. Until then payloads wait for the next iterator.
  /// - The sequence is a handler of the event: removing all handlers ends it, and it receives
  ///   nothing while the event is locked.
  /// - A `send` does not wait for loops, unless ``Buffering/suspendingSender(_:)`` makes it wait
  ///   for room. Even then, it does not wait for a loop that itself sends to the event, or awaits a
  ///   handler that does. Outside of handlers, sends by child tasks of a loop are not recognized as
  ///   the loop's own.
  /// - An iterator belongs to one task at a time. If a second task calls `next` while another task
  ///   waits, the second one gets `nil`, and a warning is written to standard error.
  /// - A sequence of ``batches(of:within:clock:)`` gives all payloads that wait as one array.
  /// - To use an iterator directly, call `next(isolation: #isolation)`. For an opaque type the
  ///   compiler does not see that `next()` does not throw.
  ///
  /// - Parameters:
  ///   - name: The name in snapshots, diagnostics and observers, and for the methods that select
  ///     handlers by name. Other handlers may have it, too.
  ///   - buffering: How many payloads wait for a slow iterator, and which are dropped beyond that.
  /// - Returns: The sequence. It receives payloads from now on.
  /// - Complexity: O(1) for each payload, however many wait.
  @inlinable public nonisolated func payloads(
    named name: String? = nil, buffering: Buffering = .unbounded
  ) -> some AsyncSequence<Payload, Never> & Sendable {
    PayloadSequence(Subscription(to: self, buffering, named: name))
  }

  /// Returns a sequence of the payloads that are sent from now on, and of the places where some
  /// were dropped. Otherwise like ``payloads(named:buffering:)``.
  @inlinable public nonisolated func arrivals(
    named name: String? = nil, buffering: Buffering = .unbounded
  ) -> some AsyncSequence<EventArrival<Payload>, Never> & Sendable {
    ArrivalSequence(Subscription(to: self, buffering, named: name))
  }
}

@usableFromInline final class Subscription<Payload: Sendable>: Sendable {
  @usableFromInline let hub: SequenceHub

  @usableFromInline init(to source: some EventSource<Payload>, _ buffering: Buffering, named name: String? = nil) {
    hub = SequenceHub(buffering, Payload.self)
    hub.listen(to: source, named: name)
  }

  deinit { hub.release() }
}

@usableFromInline struct PayloadSequence<Payload: Sendable>: AsyncSequence, Sendable {
  @usableFromInline typealias Element = Payload
  @usableFromInline typealias Failure = Never
  @usableFromInline let subscription: Subscription<Payload>

  @inlinable init(_ subscription: Subscription<Payload>) { self.subscription = subscription }

  @inlinable func makeAsyncIterator() -> Iterator {
    withExtendedLifetime(subscription) { Iterator(SequenceIterator(subscription.hub)) }
  }

  @usableFromInline struct Iterator: AsyncIteratorProtocol {
    @usableFromInline let reader: SequenceIterator

    @inlinable init(_ reader: SequenceIterator) { self.reader = reader }

    @inlinable mutating func next(isolation actor: isolated (any Actor)?) async -> Payload? {
      await reader.next(Payload.self, isolation: actor)
    }
  }
}

@usableFromInline struct ArrivalSequence<Payload: Sendable>: AsyncSequence, Sendable {
  @usableFromInline typealias Element = EventArrival<Payload>
  @usableFromInline typealias Failure = Never
  @usableFromInline let subscription: Subscription<Payload>

  @inlinable init(_ subscription: Subscription<Payload>) { self.subscription = subscription }

  @inlinable func makeAsyncIterator() -> Iterator {
    withExtendedLifetime(subscription) { Iterator(SequenceIterator(subscription.hub)) }
  }

  @usableFromInline struct Iterator: AsyncIteratorProtocol {
    @usableFromInline let reader: SequenceIterator

    @inlinable init(_ reader: SequenceIterator) { self.reader = reader }

    @inlinable mutating func next(isolation actor: isolated (any Actor)?) async -> EventArrival<Payload>? {
      await reader.nextArrival(Payload.self, isolation: actor)
    }
  }
}
