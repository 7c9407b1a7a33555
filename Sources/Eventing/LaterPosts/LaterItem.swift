import Synchronization

/// A payload that waits for its time. The event owns the item, so the item is released with the
/// event.
///
/// One step under the event's mutex ends the waiting, and says which thread does what follows: the
/// timer's thread, which enqueues the occurrence in that step; the thread that cancels; or the
/// thread that ends the event.
// Safe: each field says what guards it.
final class LaterItem: DelayedWork, @unchecked Sendable {
  enum Stage: UInt8, AtomicRepresentable, Sendable { case waiting, posted, cancelled }

  /// Changes under core.mutex.
  private let stageWord = Atomic<Stage>(.waiting)
  private weak let core: EventCore?
  // Guarded by core.mutex while the item waits. Afterwards owned by the thread that ended the
  // waiting.
  @exclusivity(unchecked) private var payload: OwnedPayload?
  /// The completion to post the payload with. It has the sender, the task-local values, and the
  /// cause for a trace; `nil` if there are none of these.
  @exclusivity(unchecked) private var completion: Completion?
  @exclusivity(unchecked) private var queue: DelayQueue?

  /// The neighbours in the event's list. Guarded by: core.mutex. After the waiting has ended,
  /// ``Leftovers`` uses `next` for its own list.
  @exclusivity(unchecked) var next: LaterItem?
  @exclusivity(unchecked) var previous: LaterItem?
  /// Guarded by: the mutex of the queue.
  var heapIndex = -1

  // Objects that the thread of the timer must not release, because their release may run the user's
  // code. Touched by that thread, and then by the block on a global queue of Dispatch in which
  // ``Leftovers`` releases them.
  @exclusivity(unchecked) private var heldCore: EventCore?
  @exclusivity(unchecked) private var replaced: OwnedPayload?

  init(
    _ payload: consuming OwnedPayload, for core: EventCore, in queue: DelayQueue,
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
  /// Always true: after the item has fired, any thread may release it. A block on a global queue of
  /// Dispatch, which ``Leftovers`` starts, releases the payload, and all other objects whose
  /// release may run the user's code.
  var releasesItself: Bool { true }

  /// Ends the waiting. Returns false if the waiting had ended before. The caller holds
  /// `core.mutex`.
  func end(_ stage: Stage) -> Bool {
    stageWord.compareExchange(expected: .waiting, desired: stage, ordering: .acquiringAndReleasing).exchanged
  }

  // MARK: Cancelling

  /// Ends the waiting, and releases the payload. Returns false if the waiting had ended before.
  func cancel() -> Bool {
    guard let core, core.removeLaterPost(self) else { return false }
    clear()
    return true
  }

  /// Removes a cancelled item from the queue of its clock, and releases what the item retains. Not
  /// under a mutex.
  func clear() {
    unsafe queue?.noteCancelled(self)
    release()
  }

  /// Releases the payload and all else that may run the user's code.
  private func release() {
    var payload: OwnedPayload?
    unsafe swap(&payload, &self.payload)
    let (completion, queue) = unsafe (completion, queue)
    unsafe (self.completion, self.queue) = (nil, nil)
    withExtendedLifetime((completion, queue)) {}
  }

  // MARK: The timer

  /// Posts the payload. The event's own queue delivers it, and ``Leftovers`` releases what the item
  /// retains, so that no code of the user holds the timer up.
  func fire() {
    if enqueue() { Leftovers.release(self) }
  }

  /// Enqueues the occurrence. Returns false if the event is gone.
  ///
  /// Never inlined, so that no reference of this function to the event outlives the call.
  /// Afterwards only `heldCore` retains the event for this thread. A block that ``Leftovers``
  /// starts sets `heldCore` to `nil` by ``letGo()``. So that block may release the event for the
  /// last time, and this thread never does.
  @inline(never) private func enqueue() -> Bool {
    unsafe heldCore = core
    guard let core = unsafe heldCore else { return false }
    unsafe core.postFromTimer(self, &replaced)
    return true
  }

  /// Appends the occurrence to the mailbox of its event. The caller holds `core.mutex`, and has
  /// ended the waiting: see ``end(_:)``.
  ///
  /// - Parameter history: The event's history; `nil` if it has none.
  /// - Returns: The payload that was the newest one in the history until now, and that this item's
  ///   payload has replaced. `nil` if there is no history, or if no payload was sent before.
  func append(to mailbox: inout Mailbox, _ history: ReplayHistory?) -> OwnedPayload? {
    guard let payload = unsafe payload?.borrowed else { preconditionFailure("an item that waits has its payload") }
    unsafe mailbox.append(payload, completion, by: Drainer.queue)
    return history?.replaceLatest(payload)
  }

  /// Releases what the timer's thread must not release: the event, and the payload that this item's
  /// payload has replaced in the event's replay history. If the item was posted, releases its own
  /// payload, too.
  func letGo() {
    if stage == .posted { release() }
    var replaced: OwnedPayload?
    unsafe swap(&replaced, &self.replaced)
    let core = unsafe heldCore
    unsafe heldCore = nil
    withExtendedLifetime(core) {}
  }
}
