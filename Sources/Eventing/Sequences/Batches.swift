extension PayloadSequence {
  @usableFromInline func batches(of count: Int) -> PayloadBatches<Payload> {
    PayloadBatches(subscription: subscription, count: Swift.max(1, count))
  }
}

extension ArrivalSequence {
  @usableFromInline func batches(of count: Int) -> ArrivalBatches<Payload> {
    ArrivalBatches(subscription: subscription, count: Swift.max(1, count))
  }
}

/// The payloads of a sequence, in arrays.
@usableFromInline struct PayloadBatches<Payload: Sendable>: AsyncSequence, Sendable {
  @usableFromInline typealias Element = [Payload]
  @usableFromInline typealias Failure = Never
  let subscription: Subscription<Payload>
  let count: Int

  @usableFromInline func makeAsyncIterator() -> Iterator {
    withExtendedLifetime(subscription) { Iterator(reader: SequenceIterator(subscription.hub), count: count) }
  }

  @usableFromInline struct Iterator: AsyncIteratorProtocol {
    let reader: SequenceIterator
    let count: Int

    @usableFromInline mutating func next(isolation actor: isolated (any Actor)?) async -> [Payload]? {
      await reader.nextBatch(of: count, isolation: actor)
    }
  }
}

/// The arrivals of a sequence, in arrays.
@usableFromInline struct ArrivalBatches<Payload: Sendable>: AsyncSequence, Sendable {
  @usableFromInline typealias Element = [EventArrival<Payload>]
  @usableFromInline typealias Failure = Never
  let subscription: Subscription<Payload>
  let count: Int

  @usableFromInline func makeAsyncIterator() -> Iterator {
    withExtendedLifetime(subscription) { Iterator(reader: SequenceIterator(subscription.hub), count: count) }
  }

  @usableFromInline struct Iterator: AsyncIteratorProtocol {
    let reader: SequenceIterator
    let count: Int

    @usableFromInline mutating func next(isolation actor: isolated (any Actor)?) async -> [EventArrival<Payload>]? {
      await reader.nextArrivalBatch(of: count, isolation: actor)
    }
  }
}

extension SequenceIterator {
  /// Returns all payloads that wait, at most `count`; `nil` at the end, and if the task is
  /// cancelled. Waits for the first one only.
  func nextBatch<Payload>(of count: Int, isolation: isolated (any Actor)?) async -> [Payload]? {
    noteHandled()
    var batch: [Payload] = []
    while batch.count < count {
      if let payload = takeNext(isAsked: false) {
        batch.append(payload.moved(to: Payload.self))
      } else if batch.isEmpty {
        guard await fill(isolation: isolation) else { return nil }
      } else if !refill() {
        break
      }
    }
    return batch
  }

  /// Returns all payloads that wait, at most `count` elements. Where payloads were dropped, an
  /// element with their number stands before the payload that follows them. Otherwise like
  /// ``nextBatch(of:isolation:)``.
  func nextArrivalBatch<Payload>(of count: Int, isolation: isolated (any Actor)?) async -> [EventArrival<Payload>]? {
    noteHandled()
    var batch: [EventArrival<Payload>] = []
    while batch.count < count {
      // `fill` and `refill` take a payload together with the number of payloads that were dropped
      // before it. In the array, that number stands before the payload.
      if let missing = takeLag() {
        batch.append(.dropped(missing))
      } else if let payload = takeNext(isAsked: false) {
        batch.append(.payload(payload.moved(to: Payload.self)))
      } else if batch.isEmpty {
        guard await fill(isolation: isolation) else { return nil }
      } else if !refill() {
        break
      }
    }
    return batch
  }
}
