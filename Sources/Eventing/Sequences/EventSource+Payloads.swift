extension EventSource {
  /// What is sent from now on, as a sequence.
  ///
  ///     for await fraction in progress.payloads(buffering: .newest(16)) { print(fraction) }
  ///
  /// - Effective on return: every occurrence sent after it is seen, in order, whenever the loop begins.
  /// - Several iterators are independent: each sees everything. One that is made when another has taken something begins with what is sent then, and one that is made when
  ///   the last has gone finds nothing.
  /// - Cancelling the task ends the loop at once, and the sequence has left its event before `next` returns. In a task that is cancelled already `next` returns at once.
  /// - It ends with its event, after what was sent; it does not keep the event alive. It is a handler: what removes all handlers ends it, and a lock silences it. It
  ///   leaves its event with its last iterator, or, if it never had one, when it is released.
  /// - `send` does not wait for loops, unless `buffering` says ``Buffering/suspendingSender(_:)`` and there is no room. A loop that itself sends to its
  ///   event, or awaits a handler that does, is not waited for; of a loop outside of handlers, what its child tasks send is not known to be its own.
  /// - An iterator belongs to one task at a time. If a second task asks one for which another task waits, the second is told `nil`, and a line on
  ///   standard error says so.
  /// - An iterator of one's own is asked with `next(isolation: #isolation)`: of an opaque type the compiler does not see that `next()` does not throw.
  /// - Complexity: O(1) for each payload, however many wait.
  ///
  /// - Parameter buffering: how many payloads wait for an iterator that is slow, and what is dropped then.
  @inlinable public nonisolated func payloads(
    buffering: Buffering = .unbounded
  ) -> some AsyncSequence<Payload, Never> & Sendable {
    PayloadSequence(Subscription(to: self, buffering))
  }

  /// The same, and how much was dropped where.
  @inlinable public nonisolated func arrivals(
    buffering: Buffering = .unbounded
  ) -> some AsyncSequence<Arrival<Payload>, Never> & Sendable {
    ArrivalSequence(Subscription(to: self, buffering))
  }
}

extension Event {
  /// What is sent from now on, with sender, event name, sequence number and instant; see ``EventSource/payloads(buffering:)``.
  public nonisolated func occurrences(
    buffering: Buffering
  ) -> some AsyncSequence<Occurrence<Payload>, Never> & Sendable {
    occurrences.payloads(buffering: buffering)
  }
}

/// A sequence that is there: it listens.
@usableFromInline final class Subscription<Payload: Sendable>: Sendable {
  @usableFromInline let hub: SequenceHub

  @usableFromInline init(to source: some EventSource<Payload>, _ buffering: Buffering) {
    hub = SequenceHub(buffering, Payload.self)
    hub.listen(to: source)
  }

  deinit { hub.drop(nil) }
}

@usableFromInline struct PayloadSequence<Payload: Sendable>: AsyncSequence, Sendable {
  @usableFromInline typealias Element = Payload
  @usableFromInline typealias Failure = Never
  @usableFromInline let subscription: Subscription<Payload>

  @inlinable init(_ subscription: Subscription<Payload>) { self.subscription = subscription }

  @inlinable func makeAsyncIterator() -> Iterator {
    withExtendedLifetime(subscription) { Iterator(SequenceReader(subscription.hub)) }
  }

  @usableFromInline struct Iterator: AsyncIteratorProtocol {
    @usableFromInline let reader: SequenceReader

    @inlinable init(_ reader: SequenceReader) { self.reader = reader }

    @inlinable mutating func next(isolation actor: isolated (any Actor)?) async -> Payload? {
      await reader.next(Payload.self, isolation: actor)
    }
  }
}

@usableFromInline struct ArrivalSequence<Payload: Sendable>: AsyncSequence, Sendable {
  @usableFromInline typealias Element = Arrival<Payload>
  @usableFromInline typealias Failure = Never
  @usableFromInline let subscription: Subscription<Payload>

  @inlinable init(_ subscription: Subscription<Payload>) { self.subscription = subscription }

  @inlinable func makeAsyncIterator() -> Iterator {
    withExtendedLifetime(subscription) { Iterator(SequenceReader(subscription.hub)) }
  }

  @usableFromInline struct Iterator: AsyncIteratorProtocol {
    @usableFromInline let reader: SequenceReader

    @inlinable init(_ reader: SequenceReader) { self.reader = reader }

    @inlinable mutating func next(isolation actor: isolated (any Actor)?) async -> Arrival<Payload>? {
      await reader.nextArrival(Payload.self, isolation: actor)
    }
  }
}
