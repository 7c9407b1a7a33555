extension EventSource {
  /// Returns a sequence of the payloads sent from now on.
  ///
  ///     for await fraction in progress.payloads(buffering: .newest(16)) { print(fraction) }
  ///
  /// - Effective on return: the sequence has every payload sent after this call, in order, no
  ///   matter when the loop begins.
  /// - Iterators are independent, and each has every payload. An iterator created after another one
  ///   has taken a payload has only payloads sent after its creation.
  /// - If the only iterator is released before its end, the next one continues with the payload
  ///   after the last one taken, as in a second `first { … }` or in a loop after one that was left
  ///   by `break`. With ``Buffering/suspendingSender(_:)``, and for payloads that a transport has
  ///   brought, the sequence ends instead, because senders would wait forever, and another listener
  ///   can take the messages.
  /// - Cancelling the task ends the loop at once. The sequence is removed from its event before
  ///   `next` returns. In a task that is already cancelled, `next` returns at once.
  /// - The sequence ends with its event, after the payloads already sent. It doesn't retain the
  ///   event. It's removed from the event when it and its iterators are released, and when a
  ///   cancelled task has ended its last iterator. Until then, payloads wait for the next iterator.
  /// - The sequence is a handler of the event: removing all handlers ends it, and it receives
  ///   nothing while the event is locked.
  /// - `send` doesn't wait for loops, unless ``Buffering/suspendingSender(_:)`` makes it wait for
  ///   room. Even then, it doesn't wait for a loop that itself sends to the event or awaits a
  ///   handler that does. Outside handlers, sends by child tasks of a loop aren't recognized as the
  ///   loop's own.
  /// - An iterator belongs to one task at a time. If a second task calls `next` while another task
  ///   is waiting, the second one gets `nil`, and a warning is written to standard error.
  /// - A sequence of ``batches(of:within:clock:)`` delivers the waiting payloads together, as an
  ///   array.
  /// - To use an iterator directly, call `next(isolation: #isolation)`. For an opaque type, the
  ///   compiler can't see that `next()` doesn't throw.
  ///
  /// - Parameters:
  ///   - name: The name in snapshots, diagnostics and observers, and for methods that select
  ///     handlers by name. Other handlers may have the same name.
  ///   - buffering: How many payloads may wait for a slow iterator, and which ones are dropped
  ///     beyond that.
  /// - Returns: The sequence, which receives payloads from now on.
  /// - Complexity: O(1) per payload, no matter how many are waiting.
  @inlinable public nonisolated func payloads(
    named name: String? = nil, buffering: Buffering = .unbounded
  ) -> some AsyncSequence<Payload, Never> & Sendable {
    PayloadSequence(of: self, buffering, named: name)
  }

  /// Returns a sequence of the payloads sent from now on that also shows where some were dropped.
  /// Otherwise like ``payloads(named:buffering:)``.
  @inlinable public nonisolated func arrivals(
    named name: String? = nil, buffering: Buffering = .unbounded
  ) -> some AsyncSequence<EventArrival<Payload>, Never> & Sendable {
    ArrivalSequence(PayloadSequence(of: self, buffering, named: name))
  }
}

@usableFromInline final class PayloadSequence<Payload: Sendable>: AsyncSequence, Sendable {
  @usableFromInline typealias Element = Payload
  @usableFromInline typealias Failure = Never
  @usableFromInline let hub: SequenceHub

  @usableFromInline init(of source: some EventSource<Payload>, _ buffering: Buffering, named name: String? = nil) {
    hub = SequenceHub(buffering, Payload.self)
    hub.listen(to: source, named: name)
  }

  deinit { hub.release() }

  @inlinable func makeAsyncIterator() -> Iterator { withExtendedLifetime(self) { Iterator(SequenceIterator(hub)) } }

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
  @usableFromInline let payloads: PayloadSequence<Payload>

  @inlinable init(_ payloads: PayloadSequence<Payload>) { self.payloads = payloads }

  @inlinable func makeAsyncIterator() -> Iterator {
    withExtendedLifetime(payloads) { Iterator(SequenceIterator(payloads.hub)) }
  }

  @usableFromInline struct Iterator: AsyncIteratorProtocol {
    @usableFromInline let reader: SequenceIterator

    @inlinable init(_ reader: SequenceIterator) { self.reader = reader }

    @inlinable mutating func next(isolation actor: isolated (any Actor)?) async -> EventArrival<Payload>? {
      await reader.nextArrival(Payload.self, isolation: actor)
    }
  }
}

/// Each buffer has a share, because each loop handles the occurrence by itself. If a mark is
/// released without ``handled()`` for each share, a loop hasn't handled the occurrence: the loop
/// ended early, or no buffer had room. Because of that effect, no mark is released under a mutex.
@usableFromInline package protocol OccurrenceMark: AnyObject, Sendable {
  func share()
  func handled()
}

/// Empty until the first mark, so that a payload costs one comparison if there is no transport.
struct MarkQueue: Sendable {
  private var marks = Deque<(any OccurrenceMark)?>()
  private(set) var isOn = false

  @inline(__always) mutating func append(_ mark: (any OccurrenceMark)?, after count: Int) {
    if isOn || mark != nil { appendPlace(mark, after: count) }
  }

  private mutating func appendPlace(_ mark: (any OccurrenceMark)?, after count: Int) {
    if !isOn { for _ in 0..<count { marks.append(nil) } }
    isOn = true
    marks.append(mark)
  }

  /// Adds a share to each mark. Memory isn't shared: an iterator modifies its marks without the
  /// mutex, which the reference count makes safe, but the thread sanitizer doesn't see that.
  func copy() -> MarkQueue {
    var copy = MarkQueue()
    copy.isOn = isOn
    marks.forEach {
      $0?.share()
      copy.marks.append($0)
    }
    return copy
  }

  /// The caller holds no mutex.
  func withdraw() { marks.forEach { $0?.handled() } }

  /// The caller releases the mark after unlocking.
  mutating func popFirst() -> (any OccurrenceMark)? { marks.popFirst() ?? nil }
}

extension Delivery {
  func makeMark() -> (any OccurrenceMark)? { completion?.account?.makeMark?() }
}

/// An element of a sequence that also shows where payloads were dropped: see
/// ``EventSource/arrivals(named:buffering:)``.
public enum EventArrival<Payload: Sendable>: Sendable {
  /// The next payload.
  case payload(Payload)
  /// The number of payloads that were dropped at this place.
  case dropped(Int)
}

extension EventArrival: Equatable where Payload: Equatable {}
extension EventArrival: Hashable where Payload: Hashable {}
