import Synchronization

/// Owned by the event. One step under the event's mutex ends the wait and decides which thread
/// continues: the timer's, the one that cancels, or the one that ends the event.
// Safe: each field says what guards it.
final class LaterItem: DelayedWork, @unchecked Sendable {
  enum Stage: UInt8, AtomicRepresentable, Sendable { case waiting, posted, cancelled }

  /// Changes under core.mutex.
  private let stageWord = Atomic<Stage>(.waiting)
  private weak let core: EventCore?
  // Guarded by core.mutex while the item waits. Afterwards owned by the thread that ended the wait.
  @exclusivity(unchecked) private var payload: OwnedPayload?
  @exclusivity(unchecked) private var completion: Completion?
  @exclusivity(unchecked) private var queue: TimerQueue?

  // Guarded by: core.mutex.
  @exclusivity(unchecked) var next: LaterItem?
  // Guarded by: core.mutex.
  @exclusivity(unchecked) var previous: LaterItem?
  // Guarded by: the mutex of the queue.
  var heapIndex = -1

  // The timer's thread must not release these, because that may run user code. They are accessed
  // first by that thread and then by the block that calls ``letGo()``.
  @exclusivity(unchecked) private var heldCore: EventCore?
  @exclusivity(unchecked) private var replaced: OwnedPayload?

  init(
    _ payload: consuming OwnedPayload, for core: EventCore, in queue: TimerQueue,
    from sender: (any AnyObject & Sendable)?
  ) {
    unsafe self.payload = consume payload
    self.core = core
    unsafe self.queue = queue
    let isTraced = core.isTraced
    unsafe completion =
      sender == nil && !CarriedContext.isCarrying && !isTraced ? nil : Completion(.post, from: sender)
    if isTraced { unsafe completion?.noteOrigin() }
  }

  var stage: Stage { stageWord.load(ordering: .acquiring) }
  var isWaiting: Bool { stage == .waiting }

  /// The caller holds `core.mutex`.
  func end(_ stage: Stage) -> Bool {
    stageWord.compareExchange(expected: .waiting, desired: stage, ordering: .acquiringAndReleasing).exchanged
  }

  // MARK: Cancelling

  func cancel() -> Bool {
    guard let core, core.removeLaterPost(self) else { return false }
    clear()
    return true
  }

  /// Must not be called while a mutex is held.
  func clear() {
    unsafe queue?.noteCancelled(self)
    release()
  }

  private func release() {
    _ = unsafe payload.take()
    withExtendedLifetime(unsafe (completion.take(), queue.take())) {}
  }

  // MARK: The timer

  /// Never inlined, so that no reference to the event outlives the call and this thread never
  /// releases the last one.
  @inline(never) func fire() {
    unsafe heldCore = core
    unsafe heldCore?.enqueueForQueue { rareState in
      guard unsafe rareState.laterPosts.end(self, .posted) else { return }
      guard let payload = unsafe payload?.borrowed else { preconditionFailure("an item that waits has its payload") }
      unsafe rareState.mailbox.append(payload, completion, by: Drainer.queue)
      unsafe replaced = rareState.history?.replaceLatest(payload)
    }
  }

  func letGo() {
    if stage == .posted { release() }
    _ = unsafe replaced.take()
    withExtendedLifetime(unsafe heldCore.take()) {}
  }
}

/// A post scheduled for later: see ``Event/post(_:after:clock:from:)``. Dropping this value has no
/// effect.
public struct ScheduledPost: Sendable {
  let item: LaterItem

  /// Cancels the post.
  ///
  /// Callable from any thread. Inside a handler that the post reached, it's too late to cancel.
  ///
  /// - Returns: Whether this call prevented the post: `false` if the payload was already posted or
  ///   the post cancelled, or if the event is finished or gone.
  /// - Complexity: O(log n) for n later posts on the clock.
  @discardableResult public func cancel() -> Bool { item.cancel() }
}

extension ScheduledPost: CustomStringConvertible {
  /// The state of the post, as text.
  public var description: String { "later post, \(item.stage)" }
}

protocol DelayedWork: AnyObject, Sendable {
  /// False once the work has begun or been cancelled. Read under the queue's mutex, so it must be a
  /// plain load.
  var isWaiting: Bool { get }
  /// -1 while not in a queue. Guarded by: the mutex of the queue.
  var heapIndex: Int { get set }
  /// Called on the timer's thread with no mutex held. All other work of the clock waits for this,
  /// so it must not run user code.
  func fire()
  /// Called after ``fire()``, in a block that also releases the work, because a user's `deinit` might
  /// block.
  func letGo()
}
