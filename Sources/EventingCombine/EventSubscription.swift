#if canImport(Combine)
  import Combine
  import Eventing
  import Synchronization

  /// The subscription of one subscriber. It adds one handler to the event.
  ///
  /// Enqueueing a value subtracts 1 from the demand. One thread at a time delivers the enqueued
  /// values, so calls of the subscriber never overlap. If the subscriber calls `request` inside
  /// `receive`, nothing is delivered before `receive` has returned.
  final class EventSubscription<Downstream: Subscriber>: Subscription, HandlerTarget
  where Downstream.Input: Sendable, Downstream.Failure == Never {
    /// The subscriber. Combine's `Subscriber` does not require `Sendable`.
    // Safe: one thread at a time delivers values, and only that thread calls the subscriber.
    private struct Receiver: @unchecked Sendable {
      let subscriber: Downstream
    }
    private struct State: Sendable {
      /// The subscriber; `nil` after cancellation or completion.
      var receiver: Receiver?
      var demand = Subscribers.Demand.none
      /// The values that wait for delivery. Enqueueing each of them has reduced `demand` by 1.
      var enqueued = ValueQueue<Downstream.Input>()
      /// The latest value that arrived without demand, if `keepsLatest`.
      var latest: Downstream.Input?
      /// Whether a thread is calling the subscriber.
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
      add { value in end.target.receive(value) }.store(in: handler)
      // Another thread may have called `cancel()` before the token was in `handler`. That call
      // found no handler to remove, so this thread removes the handler.
      if state.withLock({ $0.receiver == nil }) { handler.removeAll() }
    }

    /// Enqueues a value from the handler if there is demand, otherwise keeps or drops the value.
    /// Then delivers the enqueued values.
    fileprivate func receive(_ value: Downstream.Input) {
      // The replaced value is released after the unlock: its `deinit` is the user's code.
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

    /// Delivers the enqueued values, and then completes the subscriber.
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
      // The old state is released after the unlock: deinitializers are the user's code.
      let released = state.withLock { state in
        defer {
          state.receiver = nil
          state.enqueued = ValueQueue()
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
      /// The completion of the subscriber. `dropped` is the latest value, which is not delivered
      /// any more. This step retains the value, so that the value is released after the unlock.
      case completion(of: Receiver, dropped: Downstream.Input?)
    }

    /// Delivers the enqueued values, then the completion if the handler has ended. If another
    /// thread is delivering already, leaves both to that thread.
    private func deliver() {
      while let step = state.withLock({ Self.nextStep(&$0) }) {
        switch step {
        case .value(let value, let receiver):
          let demand = receiver.subscriber.receive(value)
          state.withLock { $0.isDelivering = false }
          if demand > 0 { request(demand) }
        case .completion(let receiver, _):
          receiver.subscriber.receive(completion: Subscribers.Completion<Never>.finished)
          state.withLock { $0.isDelivering = false }
        }
      }
    }

    /// Returns the next call of the subscriber, and marks the subscription as delivering. Returns
    /// `nil` if there is no call to make, or if another thread is delivering.
    private static func nextStep(_ state: inout State) -> Step? {
      guard !state.isDelivering, let receiver = state.receiver else { return nil }
      if let value = state.enqueued.popFirst() {
        state.isDelivering = true
        return .value(value, to: receiver)
      }
      if !state.isFinished { return nil }
      state.isDelivering = true
      defer {
        state.receiver = nil
        state.latest = nil
      }
      return .completion(of: receiver, dropped: state.latest)
    }
  }

  /// A queue of values. Appending and removing a value are amortized O(1).
  private struct ValueQueue<Value: Sendable>: Sendable {
    /// The values from `head` on. The places before it are `nil`.
    private var values: [Value?] = []
    private var head = 0

    mutating func append(_ value: Value) { values.append(value) }

    /// Removes and returns the first value; `nil` if the queue is empty.
    mutating func popFirst() -> Value? {
      guard head < values.count else { return nil }
      let value = values[head].take()
      head += 1
      // Only empty places are removed, so that nothing is released here.
      if head == values.count || head >= 64 && head * 2 >= values.count {
        values.removeFirst(head)
        head = 0
      }
      return value
    }
  }

  /// The part of a subscription that its handler uses.
  private protocol HandlerTarget<Input>: AnyObject, Sendable {
    associatedtype Input: Sendable
    func receive(_ value: Input)
    func finish()
  }

  /// Finishes the subscription when the handler ends. Only the handler's closure retains this
  /// object.
  private final class HandlerEnd<Input: Sendable>: Sendable {
    let target: any HandlerTarget<Input>
    init(_ target: any HandlerTarget<Input>) { self.target = target }
    deinit { target.finish() }
  }
#endif
