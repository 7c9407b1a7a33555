#if canImport(Combine)
  public import Combine
  public import Eventing

  extension EventSource {
    /// A publisher of the payloads that are sent after the subscription.
    ///
    ///     progress.publisher.receive(on: RunLoop.main).sink { print($0) }.store(in: &cancellables)
    ///
    /// - **Handlers.** Each subscription adds one inline handler, which cancelling removes. The
    ///   subscription does not retain the event; the publisher does. Values arrive on the thread
    ///   that delivers, one at a time, in the order of the event. The handler is added after
    ///   `receive(subscription:)` has returned.
    /// - **Demand.** If the subscriber has requested no further value, a payload is dropped, as
    ///   `PassthroughSubject` drops it. Use `buffer(size:prefetch:whenFull:)` to keep some.
    /// - **End.** The publisher completes once: when the event finishes or is released, after the
    ///   payloads that were sent before that. It also completes when the handler is removed by
    ///   other means than cancelling.
    /// - **Concurrency.** Subscribing, requesting and cancelling may be done on any thread, and
    ///   inside `receive`. A value that another thread has begun to deliver may still arrive after
    ///   `cancel` has returned.
    public var publisher: some Publisher<Payload, Never> {
      EventPublisher(keepsLatest: false) { body in addHandler(on: .inline, perform: body) }
    }
  }

  extension Observed {
    /// A publisher that sends the current value at once, and then the new value of each change.
    ///
    ///     player.$volume.publisher.removeDuplicates().sink { print($0) }.store(in: &cancellables)
    ///
    /// While there is no demand, the publisher keeps only the latest value, as
    /// `CurrentValueSubject` does. While there is demand, no change after the first value is
    /// missed, and none arrives twice. In all other respects, the publisher behaves as the
    /// publisher of an event does.
    public var publisher: some Publisher<Value, Never> {
      EventPublisher(keepsLatest: true) { body in addHandler(on: .inline, perform: body) }
    }
  }

  /// A publisher that adds a handler for each subscription.
  private struct EventPublisher<Output: Sendable>: Publisher {
    typealias Failure = Never
    /// Whether a value without demand waits for demand, until the next value replaces it.
    let keepsLatest: Bool
    /// Adds an inline handler that calls a closure with each value.
    let add: (@escaping @Sendable (Output) -> Void) -> HandlerToken

    func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Never {
      let subscription = EventSubscription(subscriber, keepsLatest: keepsLatest)
      subscriber.receive(subscription: subscription)
      subscription.begin(add)
    }
  }
#endif
