#if canImport(Combine)
  import Combine
  import Eventing
  import Synchronization

  /// The subscription of one subscriber, with one handler.
  ///
  /// A value takes its part of the demand when it is enqueued. One thread at a time delivers what
  /// is enqueued, so calls of the subscriber never overlap, and `request` may be called inside one.
  final class EventSubscription<Downstream: Subscriber>: Subscription, HandlerTarget
  where Downstream.Input: Sendable, Downstream.Failure == Never {
    /// The subscriber, which Combine's subscribers are not marked for.
    // Safe: one thread at a time calls it, the one that delivers.
    private struct Receiver: @unchecked Sendable {
      let subscriber: Downstream
    }
    private struct State: Sendable {
      /// The subscriber; `nil` after the end.
      var receiver: Receiver?
      var demand = Subscribers.Demand.none
      /// The values that have their demand, and wait for the thread that delivers.
      var enqueued: [Downstream.Input] = []
      /// The latest value, if it found no demand and is kept.
      var latest: Downstream.Input?
      /// Whether a thread calls the subscriber.
      var isDelivering = false
      /// Whether the handler has ended.
      var isFinished = false
    }
    private let state: Mutex<State>
    private let keepsLatest: Bool
    private let handler = HandlerBag()

    init(_ downstream: Downstream, keepsLatest: Bool) {
      state = Mutex(State(receiver: Receiver(subscriber: downstream)))
      self.keepsLatest = keepsLatest
    }

    /// Adds the handler, unless the subscription was cancelled.
    func begin(_ add: (@escaping @Sendable (Downstream.Input) -> Void) -> HandlerToken) {
      if state.withLock({ $0.receiver == nil }) { return }
      let end = HandlerEnd<Downstream.Input>(self)
      handler.insert(add { value in end.target.receive(value) })
      // Another thread may have cancelled meanwhile, and found no handler.
      if state.withLock({ $0.receiver == nil }) { handler.removeAll() }
    }

    /// Takes a value of the handler.
    fileprivate func receive(_ value: Downstream.Input) {
      // A value that is replaced is released after the mutex.
      let replaced = state.withLock { state -> Downstream.Input? in
        if state.receiver == nil { return nil }
        if state.demand > 0 {
          state.demand -= 1
          state.enqueued.append(value)
          return nil
        }
        let replaced = state.latest
        if keepsLatest { state.latest = value }
        return replaced
      }
      withExtendedLifetime(replaced) { deliver() }
    }

    /// Completes the subscriber after the values that are enqueued.
    fileprivate func finish() {
      state.withLock { $0.isFinished = true }
      deliver()
    }

    func request(_ demand: Subscribers.Demand) {
      state.withLock { state in
        state.demand += demand
        if state.demand > 0, let latest = state.latest {
          state.latest = nil
          state.demand -= 1
          state.enqueued.append(latest)
        }
      }
      deliver()
    }

    func cancel() {
      // Released after the mutex.
      let released = state.withLock { state in
        defer {
          state.receiver = nil
          state.enqueued = []
          state.latest = nil
        }
        return state
      }
      handler.removeAll()
      withExtendedLifetime(released) {}
    }

    // MARK: Delivering

    private enum Step: Sendable {
      case value(Downstream.Input, to: Receiver)
      case completion(of: Receiver)
    }

    /// Delivers what is enqueued, unless a thread does so already, which then delivers it.
    private func deliver() {
      while let step = state.withLock({ Self.nextStep(&$0) }) {
        switch step {
        case .value(let value, let receiver):
          let demand = receiver.subscriber.receive(value)
          state.withLock { $0.isDelivering = false }
          if demand > 0 { request(demand) }
        case .completion(let receiver):
          receiver.subscriber.receive(completion: Subscribers.Completion<Never>.finished)
          state.withLock { $0.isDelivering = false }
        }
      }
    }

    /// Returns the next call of the subscriber, and makes the caller the thread that delivers.
    private static func nextStep(_ state: inout State) -> Step? {
      guard !state.isDelivering, let receiver = state.receiver else { return nil }
      if !state.enqueued.isEmpty {
        state.isDelivering = true
        return .value(state.enqueued.removeFirst(), to: receiver)
      }
      if !state.isFinished { return nil }
      state.isDelivering = true
      state.receiver = nil
      state.latest = nil
      return .completion(of: receiver)
    }
  }

  /// A subscription, as its handler knows it.
  private protocol HandlerTarget<Input>: AnyObject, Sendable {
    associatedtype Input: Sendable
    func receive(_ value: Input)
    func finish()
  }

  /// The end of a handler. The handler's closure alone retains it.
  private final class HandlerEnd<Input: Sendable>: Sendable {
    let target: any HandlerTarget<Input>
    init(_ target: any HandlerTarget<Input>) { self.target = target }
    deinit { target.finish() }
  }
#endif
