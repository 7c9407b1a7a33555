import Synchronization

/// A post that is to be made later: see ``Event/post(_:after:clock:from:)``. Dropping it changes
/// nothing.
public struct LaterPost: Sendable {
  let item: LaterItem

  /// Cancels the post.
  ///
  /// From any thread. Inside a handler that the post reached, it is too late.
  ///
  /// - Returns: Whether this call kept the payload from being posted. `false` if it was posted or
  ///   cancelled before, and if the event is finished or gone.
  /// - Complexity: O(1), amortized.
  @discardableResult public func cancel() -> Bool { item.cancel() }
}

extension LaterPost: CustomStringConvertible {
  /// The state of the post, as text.
  public var description: String { "later post, \(item.stage)" }
}

/// A payload that waits for its time. The event owns it, so it goes with the event.
///
/// The queue of its clock holds it weakly.
// Safe: `state` is atomic; what changes besides says what guards it.
@usableFromInline final class LaterItem: DelayedWork, @unchecked Sendable {
  enum Stage: UInt8, AtomicRepresentable, Sendable { case waiting, posted, cancelled }

  let id: UInt64
  private let state = Atomic<Stage>(.waiting)
  private weak let core: EventCore?
  private let context: CarriedContext?
  private weak let sender: (any AnyObject & Sendable)?
  /// Taken out by the thread that ends the waiting, and by no other.
  @exclusivity(unchecked) private var payload: OwnedPayload?
  /// The queue in which the item waits. Set before the item is shared.
  @exclusivity(unchecked) var queue: (any DelayQueueing)?

  private static let lastID = Atomic<UInt64>(0)

  init(_ payload: consuming OwnedPayload, for core: EventCore, from sender: (any AnyObject & Sendable)?) {
    id = LaterItem.lastID.wrappingAdd(1, ordering: .relaxed).newValue
    unsafe self.payload = consume payload
    self.core = core
    self.sender = sender
    context = CarriedContext.current()
  }

  var stage: Stage { state.load(ordering: .acquiring) }
  var isWaiting: Bool { stage == .waiting }

  /// Returns true for the one caller that ends the waiting.
  private func end(_ stage: Stage) -> Bool {
    state.compareExchange(expected: .waiting, desired: stage, ordering: .acquiringAndReleasing).exchanged
  }

  /// Ends the waiting, and releases the payload. Returns false if the waiting was over.
  func cancel() -> Bool {
    guard end(.cancelled) else { return false }
    _ = takePayload()
    unsafe queue?.noteCancelled()
    _ = core?.takeLaterPost(id)
    return true
  }

  /// Posts the payload, on the event's own queue: a handler that blocks must not hold the timer up.
  func fire() {
    guard end(.posted) else { return }
    guard let core, core.takeLaterPost(id), let payload = takePayload() else { return }
    let post = {
      let completion = self.sender == nil && !CarriedContext.isCarrying ? nil : Completion(.post, from: self.sender)
      _ = core.enqueue(payload.borrowed, completion, by: Drainer.queue)
    }
    if let context { context.run(post) } else { post() }
  }

  private func takePayload() -> OwnedPayload? {
    var taken: OwnedPayload?
    unsafe swap(&taken, &payload)
    return taken
  }
}

/// The later posts of one event. Guarded by: core.mutex.
struct LaterPosts {
  /// By the ids of the items.
  private var items: [UInt64: LaterItem] = [:]
  /// The queues of clocks that are objects, by the clock.
  private var queues: [ObjectIdentifier: any DelayQueueing] = [:]

  mutating func insert(_ item: LaterItem) { items[item.id] = item }

  /// Takes all items out: the event ends.
  mutating func takeAll() -> [LaterItem] {
    defer { items = [:] }
    return Array(items.values)
  }

  mutating func remove(_ id: UInt64) -> LaterItem? {
    defer { items.giveBackRoom() }
    return items.removeValue(forKey: id)
  }

  /// Returns the queue of a clock that is an object; the given one if there is none.
  mutating func queue(of clock: AnyObject, _ made: any DelayQueueing) -> any DelayQueueing {
    let queue = queues[ObjectIdentifier(clock)] ?? made
    queues[ObjectIdentifier(clock)] = queue
    return queue
  }
}

extension EventCore {
  /// Keeps a later post until its time. Returns false if the event is finished.
  func insert(_ item: LaterItem) -> Bool {
    let pendingWork = pendingWork
    return mutex.withLock {
      if unsafe isFinished { return false }
      unsafe pendingWork.laterPosts.insert(item)
      return true
    }
  }

  /// Cancels all later posts: the event ends.
  func cancelLaterPosts() {
    guard let pendingWork = pendingWorkReference.load() else { return }
    for item in mutex.withLock({ unsafe pendingWork.laterPosts.takeAll() }) { _ = item.cancel() }
  }

  /// Takes a later post out. Returns false if the event has dropped it.
  func takeLaterPost(_ id: UInt64) -> Bool {
    let item = mutex.withLock { unsafe pendingWorkReference.load()?.laterPosts.remove(id) }
    return item != nil
  }
}
