import Synchronization

/// Where payloads wait for one iterator, and the iterator for payloads.
// Safe: all is guarded by the channel's lock, but `consumer`, which the lock of the wait graph guards, and `task`, which is atomic.
@safe @usableFromInline final class Inlet<Payload: Sendable>: WaitNode, @unchecked Sendable {
  /// What waits if there is no bound, and nothing else is to be known of it.
  @usableFromInline @exclusivity(unchecked) var items: ContiguousArray<Payload> = []
  /// What waits if there is a bound.
  @exclusivity(unchecked) var inbox: Inbox<Payload>
  /// The iterator, if it waits.
  @usableFromInline @exclusivity(unchecked) var sleeper: UnsafeContinuation<Void, Never>?

  @exclusivity(unchecked) var isCancelled = false

  /// The call of a handler, if the iterator was used in one.
  @exclusivity(unchecked) private var consumer: Running?
  /// The task that used the iterator last.
  private let task = Atomic<Int>(0)

  init(_ inbox: Inbox<Payload>) { unsafe self.inbox = inbox }

  @inlinable func takeSleeper() -> UnsafeContinuation<Void, Never>? {
    guard let taken = unsafe sleeper else { return nil }
    unsafe sleeper = nil
    return unsafe taken
  }

  // MARK: For a send that waits for room (G16)

  /// Notes who iterates.
  func noteConsumer() {
    task.store(Flight.currentTask, ordering: .relaxed)
    let running = Context.running.get().flatMap { $0.isCurrent ? $0 : nil }
    WaitGraph.lock.withLock { unsafe consumer = running }
  }

  /// Whether the very task that sends is the one that would have to make room.
  func isConsumer(of flight: Flight) -> Bool { flight.task != 0 && flight.task == task.load(ordering: .relaxed) }

  override func isBlocked(_ question: inout WaitGraph.Question) -> Bool {
    guard let running = unsafe consumer, running.isCurrent else { return false }
    return question.isBlocked(running.seat)
  }
}
